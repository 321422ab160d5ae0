"""The call that is being executed, for the code of its tool."""

from contextvars import ContextVar

__all__ = ["CALL", "CALL_KEY", "call_key"]

CALL: ContextVar[str] = ContextVar("harness_call", default="")
"""Run and id of the call, as `RUN/CALL`: what log lines name it by."""
CALL_KEY: ContextVar[str] = ContextVar("harness_call_key", default="")


def call_key() -> str:
    """The idempotency key of the call that this code is executed for; empty for calls without one.

    A tool with `derived` idempotency hands it on to whatever performs the effect. Threads that a tool starts itself do
    not see it.
    """
    return CALL_KEY.get()
