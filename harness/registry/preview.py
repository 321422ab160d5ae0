"""Previews: what a person reads of a call before saying yes; a template over the arguments, or a function of them."""

import re
from collections.abc import Callable, Mapping

from harness.core.call import Json
from harness.core.canonical import canonical
from harness.registry.settings import Preview

__all__ = ["preview_of", "template_names"]

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def template_names(template: str) -> list[str]:
    """The arguments that a template names, in order. Raises ValueError where braces do not match."""
    rest = _FIELD.sub("", template)
    if "{" in rest or "}" in rest:
        raise ValueError("a single brace; write `{{` for a brace of the text")
    return [found[1] for found in _FIELD.finditer(template) if found[1] is not None]


def preview_of(preview: Preview) -> Callable[[Mapping[str, Json]], str] | None:
    """Arguments (as JSON) → text; None where no preview is written. Values go in as text, never as code or fields."""
    if not preview:
        return None
    if callable(preview):
        function = preview
        return lambda arguments: str(function(**arguments))
    template = preview
    return lambda arguments: _FIELD.sub(lambda found: _filled(found, arguments), template)


def _filled(found: re.Match[str], arguments: Mapping[str, Json]) -> str:
    name = found[1]
    if name is None:
        return found[0][0]
    if name not in arguments:
        return "(not given)"
    value = arguments[name]
    return value if isinstance(value, str) else canonical(value).decode("utf-8")
