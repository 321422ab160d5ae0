"""Masks: labelled fields of a class that the contract does not list arrive as `[masked:CLASS]`.

A label is a field path in a tool's result. `email` labels every field of that name, at any depth; `owner.email` only
that one; lists are looked through; `*` stands for any field; `$` is the whole result. What is labelled twice is masked
where either class is not listed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from harness.core.call import Json

__all__ = ["WHOLE", "mask", "mask_text", "masked_classes"]

WHOLE = "$"
"""The path of the whole result."""


def mask_text(name: str) -> str:
    """What stands in place of a value of a class."""
    return f"[masked:{name}]"


def masked_classes(labels: Mapping[str, str], allowed: Collection[str]) -> tuple[str, ...]:
    """The classes among `labels` that arrive masked, sorted."""
    return tuple(sorted({name for name in labels.values() if name not in allowed}))


def mask(value: Json, labels: Mapping[str, str], allowed: Collection[str]) -> Json:
    """`value` with masks in place of what `allowed` does not list; parts without a label are shared, not copied.

    Validate first: what is masked no longer fits its schema. Never changes `value`.
    """
    hidden = {path: name for path, name in labels.items() if name not in allowed}
    if not hidden:
        return value
    if WHOLE in hidden:
        return mask_text(hidden[WHOLE])
    anywhere: dict[str, str] = {}
    root = _Node()
    for path, name in hidden.items():
        steps = [step.removesuffix("[]") for step in path.removeprefix("$.").split(".")]
        steps = [step for step in steps if step]
        if len(steps) == 1 and steps[0] != "*":
            anywhere[steps[0]] = name
        elif steps:
            root.add(steps, name)
    return _masked(value, (root,), anywhere)


@dataclass(slots=True)
class _Node:
    """One step of the labelled paths."""

    name: str = ""
    """Class of the value here; empty where only deeper ones are labelled."""
    below: "dict[str, _Node]" = field(default_factory=dict)

    def add(self, steps: list[str], name: str) -> None:
        """A path below this node."""
        node = self
        for step in steps:
            node = node.below.setdefault(step, _Node())
        node.name = name


def _masked(value: Json, nodes: tuple[_Node, ...], anywhere: Mapping[str, str]) -> Json:
    """The value under `nodes`, every path that leads here."""
    if isinstance(value, list):
        items = [_masked(item, nodes, anywhere) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    changed: dict[str, Json] = {}
    for key, item in value.items():
        following = tuple(step for node in nodes for step in (node.below.get(key), node.below.get("*")) if step)
        name = anywhere.get(key) or next((step.name for step in following if step.name), "")
        new = mask_text(name) if name else _masked(item, following, anywhere)
        if new is not item:
            changed[key] = new
    return {**value, **changed} if changed else value
