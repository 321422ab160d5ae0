"""Values that a snippet finds and cannot change: dicts and lists in every respect, but that writing raises."""

import copy
from typing import Any, NoReturn

__all__ = ["ReadOnlyDict", "ReadOnlyList", "read_only"]


def read_only(value: Any, name: str) -> Any:
    """A JSON value whose dicts and lists, at every level, refuse to be changed; `name` is what the refusal calls it."""
    if isinstance(value, dict):
        frozen = ReadOnlyDict((key, read_only(item, name)) for key, item in value.items())
        frozen.name = name
        return frozen
    if isinstance(value, list):
        items = ReadOnlyList(read_only(item, name) for item in value)
        items.name = name
        return items
    return value


class _ReadOnly:
    name = ""
    """What the snippet calls it."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"`{self.name}` is read-only: change a copy of it, `copy.deepcopy({self.name})`")


class ReadOnlyDict(_ReadOnly, dict[str, Any]):
    """A dict that refuses every change."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _ReadOnly._refuse

    def copy(self) -> dict[str, Any]:
        """An ordinary dict, whose values are still read-only."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(item, memo) for key, item in self.items()}

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class ReadOnlyList(_ReadOnly, list[Any]):
    """A list that refuses every change."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = reverse = (
        sort
    ) = _ReadOnly._refuse

    def copy(self) -> list[Any]:
        """An ordinary list, whose items are still read-only."""
        return list(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(item, memo) for item in self]

    def __reduce__(self) -> Any:
        return list, (list(self),)
