"""What the generated text leans on, for type checkers and for people who import it outside a box."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["UNSET", "Tool", "stub"]

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

UNSET: Any = None
"""Default of a parameter that may be left out: it does not travel then."""


class Tool(Generic[P, R]):
    """A function with `map`."""

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the tool."""
        return self._function(*args, **kwargs)

    def map(self, rows: Iterable[Any], /, **common: Any) -> list[R]:
        """One call for each row (a dict of arguments, a tuple of them, or the first one), all at the same time."""
        raise NotImplementedError("this text describes the tools of a run; calls work inside a box")


def stub(function: Callable[P, R]) -> Tool[P, R]:
    """Mark a function as a tool's stub."""
    return Tool(function)
