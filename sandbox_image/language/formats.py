"""Format strings: which attributes their field paths read. The checker looks at those that are written out, the guard
at those that are computed (A04). Standard library only.
"""

import functools
import string
from _string import (  # type: ignore[import-not-found]  # what `string` itself parses with
    formatter_field_name_split,
    formatter_parser,
)
from collections.abc import Callable, Iterator
from typing import Any

from sandbox_image.language.names import GUARDED, LIBRARY_PRIVATE, OPAQUE

__all__ = ["MAX_FIELDS", "attributes_in", "forbidden_in", "formatter", "vetted"]

MAX_FIELDS = 10_000
"""Fields that are looked at; a longer text is refused, so that looking stays cheap."""


def attributes_in(text: str) -> Iterator[str]:
    """Every attribute name in the fields of a format string, nested ones too. Raises ValueError as `format` does."""
    for seen, (_, field, spec, _) in enumerate(formatter_parser(text)):
        if seen > MAX_FIELDS:
            raise ValueError(f"a format string has more than {MAX_FIELDS} fields")
        if field:
            yield from (str(name) for is_attribute, name in formatter_field_name_split(field)[1] if is_attribute)
        if spec and "{" in spec:
            yield from attributes_in(spec)


def forbidden_in(text: str) -> str:
    """The first attribute in a format string that may not be read so; empty where there is none."""
    return next((name for name in attributes_in(text) if not _is_free(name)), "")


def _is_free(name: str) -> bool:
    if name in OPAQUE or name in GUARDED:
        return False
    return not name.startswith("_") or name in LIBRARY_PRIVATE or name in _NAMES


_NAMES = frozenset(("__name__", "__qualname__", "__doc__"))
"""Special attributes that a field may read: texts, where all others are methods or worse."""


@functools.lru_cache(maxsize=256)
def _judged(text: str) -> str:
    return forbidden_in(text)


def vetted(text: str, name: str, refuse: Callable[[str], Any]) -> Callable[..., str]:
    """`text.format` or `text.format_map`, which looks at the text first and calls `refuse` with what it cannot read."""

    def formatted(*args: Any, **values: Any) -> str:
        forbidden = _judged(text)
        if forbidden:
            refuse(forbidden)
        if name == "format_map":
            return str.format_map(text, *args, **values)
        return str.format(text, *args, **values)

    return formatted


def formatter(read_name: Callable[[Any, str], Any]) -> type[string.Formatter]:
    """`string.Formatter`, whose fields read attributes by the rules of the language."""

    class Formatter(string.Formatter):
        """Formats by rules of its own; derive from it to change them."""

        def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
            first, rest = formatter_field_name_split(field_name)
            found = self.get_value(first, args, kwargs)
            for is_attribute, key in rest:
                found = read_name(found, str(key)) if is_attribute else found[key]
            return found, first

    return Formatter
