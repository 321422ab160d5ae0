"""The promise: what a stub returns inside a running event loop. It can be awaited, and without `await` it is its value.

It has no attributes of its own: `p.close` is the field of a share's price, not a method of a coroutine. Two things no
stand-in can catch, `p is None` and `match p`: the language layer wraps those in `resolve`.
"""

import copy
import json
import operator
import sys
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol

__all__ = ["Pending", "Promise", "resolve", "teach_json"]

_PENDING = "_Promise__pending"

_MACHINERY = ("asyncio", "inspect", "json")
"""Modules that ask what a promise is, and must not be told what its value is."""


class Pending(Protocol):
    """What stands behind a promise: one call or many, whose answers may not be there yet."""

    def block(self) -> Any:
        """The value, waited for in place. Raises the call's error."""

    def wait(self) -> Generator[Any, None, Any]:
        """The steps of an `await`, which end with the value, or raise the call's error."""


class Promise:
    """The outcome of a call that was sent. Using it in any way waits for its value; awaiting lets others go on."""

    __slots__ = ("__pending",)

    def __init__(self, pending: Pending) -> None:
        object.__setattr__(self, _PENDING, pending)

    def __await__(self) -> Generator[Any, None, Any]:
        pending: Pending = object.__getattribute__(self, _PENDING)
        return pending.wait()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return Promise if _asked_by_machinery() else type(resolve(self))

    def __getattr__(self, name: str) -> Any:
        if _asked_by_machinery():
            raise AttributeError(name)
        return getattr(resolve(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(resolve(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(resolve(self), name)

    def __hash__(self) -> int:
        return object.__hash__(self) if _asked_by_machinery() else hash(resolve(self))

    def __eq__(self, other: object) -> Any:
        return self is other if _asked_by_machinery() else resolve(self) == resolve(other)

    def __ne__(self, other: object) -> Any:
        return self is not other if _asked_by_machinery() else resolve(self) != resolve(other)

    def __copy__(self) -> Any:
        return copy.copy(resolve(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(resolve(self), memo)

    def __format__(self, form: str) -> str:
        return format(resolve(self), form)

    def __round__(self, digits: "int | None" = None) -> Any:
        return round(resolve(self), digits)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        return pow(resolve(self), resolve(exponent), modulus)

    def __rpow__(self, base: Any) -> Any:
        return base ** resolve(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return resolve(self).__reduce_ex__(protocol)


def resolve(value: Any) -> Any:
    """The value of a promise, waited for; anything else as it is."""
    while type(value) is Promise:
        value = object.__getattribute__(value, _PENDING).block()
    return value


def _asked_by_machinery() -> bool:
    """True where the one that looks at the promise is asyncio itself, not the snippet."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in ("abc", "_collections_abc"):
        frame = frame.f_back
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _MACHINERY


# --- one method for each operator ----------------------------------------------------------------------------------

_UNARY: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__str__": str,
    "__repr__": repr,
    "__bytes__": bytes,
    "__len__": len,
    "__iter__": iter,
    "__reversed__": reversed,
    "__dir__": dir,
    "__index__": operator.index,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__abs__": abs,
    "__invert__": operator.invert,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "__getitem__": operator.getitem,
    "__delitem__": operator.delitem,
    "__contains__": operator.contains,
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
}
_REFLECTED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "matmul": operator.matmul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def _unary(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: act(resolve(self))


def _binary(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: act(resolve(self), resolve(other))


def _reflected(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: act(resolve(other), resolve(self))


def _set_item(self: Promise, key: Any, value: Any) -> None:
    resolve(self)[key] = value


for _name, _act in _UNARY.items():
    setattr(Promise, _name, _unary(_act))
for _name, _act_two in _BINARY.items():
    setattr(Promise, _name, _binary(_act_two))
for _name, _act_two in _REFLECTED.items():
    setattr(Promise, f"__{_name}__", _binary(_act_two))
    setattr(Promise, f"__r{_name}__", _reflected(_act_two))
setattr(Promise, "__setitem__", _set_item)  # noqa: B010 (a type checker must not think that every use is one)
Promise.__name__ = "un-awaited tool call"
"""What Python's own messages call it: `expected str instance, un-awaited tool call found`."""
Coroutine.register(Promise)
"""asyncio takes it wherever it takes a coroutine."""


def teach_json() -> None:
    """Make `json.dumps` see through promises, whatever `default` it is given. For the box alone."""
    encoder = json.JSONEncoder
    set_up, refuse = encoder.__init__, encoder.default

    def default(self: json.JSONEncoder, value: Any) -> Any:
        return resolve(value) if type(value) is Promise else refuse(self, value)

    def __init__(self: json.JSONEncoder, **settings: Any) -> None:
        set_up(self, **settings)
        own = self.default
        if getattr(own, "__func__", None) is not default:
            own_or_value = lambda value: resolve(value) if type(value) is Promise else own(value)  # noqa: E731
            self.__dict__["default"] = own_or_value

    setattr(encoder, "default", default)  # noqa: B010 (a patch, of the box's own process)
    setattr(encoder, "__init__", __init__)  # noqa: B010
