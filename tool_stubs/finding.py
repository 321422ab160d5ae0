"""The two functions by which a snippet finds its way in a large surface: their names, and their text for models."""

from collections.abc import Iterable

from tool_stubs.naming import unused

__all__ = ["finding_lines", "finding_names"]


def finding_names(tools: Iterable[str]) -> dict[str, str]:
    """`search` and `describe` → what they are called beside the tools of these Python names: a tool keeps its name,
    and the function beside it is `search_tools` or `describe_tool` then."""
    taken = set(tools)
    return {
        name: name if name not in taken else unused(other, taken)
        for name, other in (("search", "search_tools"), ("describe", "describe_tool"))
    }


def finding_lines(names: dict[str, str]) -> list[str]:
    """The source lines of both, as they stand at the end of the stubs."""
    return [
        *("", "", f"def {names['search']}(query: str, limit: int = 10) -> list[dict[str, str]]:"),
        '    """Tools for some words, best first: `name` to import, `signature`, and `purpose` in one line.',
        *("", f"    It costs no call. The full text of one: `{names['describe']}(name)`.", '    """', "    ..."),
        *("", "", f"def {names['describe']}(name: str) -> str:"),
        '    """The full text of a tool: arguments, units, result, errors, effect. It costs no call.',
        *("", "    Raises:", "        LookupError: no such tool; it names the nearest.", '    """', "    ..."),
    ]
