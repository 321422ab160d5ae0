"""The user of the host under whom a box's processes run: never root, where the harness is root one of the box's own."""

import os
import pwd
import secrets
from contextlib import suppress

__all__ = ["FIRST_USER", "USERS", "box_user"]

FIRST_USER = 0x7000_0000
"""Above the users, subordinate ranges and dynamic users of distributions and systemd, below the 31-bit end."""
USERS = 1 << 24
"""Numbers to draw from: with 200 boxes alive two share one with a chance of 0.1 %, and then only a process limit."""


def box_user() -> int | None:
    """A user id for one box, the same number for its group; None where this process cannot change its user."""
    if os.geteuid() != 0:
        return None
    while True:
        user = FIRST_USER + secrets.randbelow(USERS)
        with suppress(KeyError):
            pwd.getpwuid(user)
            continue
        return user
