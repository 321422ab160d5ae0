"""The user as whom a server's process runs: one that owns nothing here, or an account; no groups of the host's."""

import os
import pwd
import secrets
from dataclasses import dataclass

from harness.toolsets.errors import SourceUnavailable

__all__ = ["APART", "User", "user_of"]

APART = "apart"
FIRST, COUNT = 0x6000_0000, 1 << 24
"""Above the users, subordinate ranges and dynamic users of distributions and systemd, and apart from boxes' users."""


@dataclass(frozen=True, slots=True)
class User:
    """Whom a process becomes before it starts; its supplementary groups are none."""

    uid: int
    gid: int


def user_of(name: str) -> User | None:
    """None where nothing is said: the host's own. `apart` draws an id of which nothing on the machine is.

    Raises SourceUnavailable where there is no such account, it is root, or this process cannot become another user.
    """
    if not name:
        return None
    if os.geteuid() != 0:
        hint = "start the host as root, leave `user` out, or give the source a `box`"
        raise SourceUnavailable("a source wants a user of its own, and only root can become another one", hint=hint)
    if name == APART:
        number = FIRST + secrets.randbelow(COUNT)
        return User(number, number)
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise SourceUnavailable(f"there is no account `{name}` here", hint="make one, or write `apart`") from None
    if account.pw_uid == 0:
        raise SourceUnavailable(f"the account `{name}` is root, which reads everything", hint="write `apart`")
    return User(account.pw_uid, account.pw_gid)
