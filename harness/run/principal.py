"""Whose run it is where nobody else says so: the user of this process."""

import os
import pwd

from harness.contract.policy import Policy
from harness.contract.principal import Principal

__all__ = ["operating_system_user"]


def operating_system_user(policy: Policy) -> Principal:
    """The principal of the command line: the user of this process, with the claims that the policy gives it."""
    name = _user_name()
    return Principal(name, policy.claims.get(name, {}), "os")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
