"""Runs a snippet as the box does, in this process: checked, compiled, and executed in the globals of its language."""

import asyncio
import datetime
import marshal
import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from harness.core.errors import SnippetRefused
from harness.language.check import Checked, Language, check
from sandbox_image.language import namespace
from sandbox_image.language.modules import STANDARD

__all__ = ["PLAIN", "RESTRICTED", "checked", "faults", "run"]

_DATETIME = datetime.datetime
RESTRICTED, PLAIN = Language.RESTRICTED, Language.PLAIN


def checked(
    source: str,
    language: Language = RESTRICTED,
    imports: Sequence[str] = STANDARD,
    tools: Collection[str] = frozenset({"search", "send_mail", "read_record"}),
) -> Checked:
    """The snippet as the host checks it, with every module that has a façade."""
    return check(source, language=language, imports=imports, tools=tools)


def run(
    source: str,
    language: Language = RESTRICTED,
    imports: Sequence[str] = STANDARD,
    tools: Mapping[str, Callable[..., Any]] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> Any:
    """The value of a snippet. Raises SnippetRefused, or what the snippet raises."""
    code = checked(source, language, imports, frozenset(tools or {"search"})).code
    module = types.ModuleType("tools")
    module.__dict__.update(tools or {"search": lambda q="": [q]})
    main = sys.modules["__main__"]
    try:
        names = namespace.build(language.value, imports, module, {"__value__": lambda value: value, **(extras or {})})
        exec(marshal.loads(code), names)
        value = names["__snippet__"]()
        return asyncio.run(_awaited(value)) if hasattr(value, "__await__") else value
    finally:
        sys.modules["__main__"] = main
        datetime.datetime = _DATETIME


async def _awaited(value: Any) -> Any:
    while hasattr(value, "__await__"):
        value = await value
    return value


def faults(source: str, language: Language = RESTRICTED, imports: Sequence[str] = STANDARD) -> list[str]:
    """What is wrong with a snippet, each fault as its sentence; empty where nothing is."""
    try:
        checked(source, language, imports)
    except SnippetRefused as refused:
        return [str(fault) for fault in refused.faults]
    return []
