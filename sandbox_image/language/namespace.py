"""The globals in which a snippet runs."""

import builtins
from collections.abc import Sequence
from typing import Any

__all__ = ["build"]


def build(language: str, imports: Sequence[str], tools_module: Any, extras: dict[str, Any]) -> dict[str, Any]:
    """The globals of a snippet in `language`."""
    return {"__builtins__": builtins, "__name__": "__main__", **extras}
