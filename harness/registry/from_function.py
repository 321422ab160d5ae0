"""From a Python function or method to a tool: schemas from its annotations, metadata from its settings."""

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from harness.contract.tool import NO_IDEMPOTENCY, ErrorRule, IdempotencyRule, Identity, ToolContract
from harness.core.budget import Amount
from harness.core.call import Approval, Effect, Idempotency, Json
from harness.core.errors import Fault, Place, RegistryRefused
from harness.registry.checks import contract_faults
from harness.registry.decorator import settings_of
from harness.registry.docstrings import parse
from harness.registry.preview import preview_of
from harness.registry.registry import Tool
from harness.registry.settings import Cost, Settings
from harness.registry.signature import Signature, read_signature

__all__ = ["from_function", "source_of"]


def from_function(function: Callable[..., object], settings: Settings | None = None, *, source: str = "") -> Tool:
    """A tool of a function, method or callable object.

    `settings` is for functions that are not decorated, and stands above the decorator's; with neither, the strict
    values hold. `source` is the place that conflicts name, `FILE:LINE` of the function where it is empty.
    Raises RegistryRefused with every fault.
    """
    chosen = settings or settings_of(function) or Settings()
    place = source or source_of(function)
    name = chosen.name or _name_of(function)
    where = _place(place, name)
    told = parse(inspect.getdoc(function) if chosen.description is None else chosen.description)
    signature, faults = read_signature(function, chosen, told, where)
    words, more = _words(chosen, where)
    faults += more
    if signature is None or words is None:
        raise RegistryRefused(faults)
    contract = _contract(name, told.text, chosen, signature, words, place)
    faults += contract_faults(contract, where)
    if faults:
        raise RegistryRefused(faults)
    return Tool(
        contract=contract,
        function=_by_keyword(function, signature.positional_only),
        is_async=_is_async(function),
        decode=signature.decode,
        encode=signature.encode,
        error_types=tuple(chosen.errors.items()),
        cost=_cost(chosen.cost),
        preview=_preview(chosen, signature),
        reconcile=chosen.reconcile,
        compensate=chosen.compensate,
    )


def source_of(function: object) -> str:
    """`FILE:LINE` of a function, as seen from the current folder where it lies below it; its name where it has none."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    if code is None:
        return f"{type(function).__module__}.{type(function).__qualname__}"
    path = os.path.relpath(code.co_filename)
    return f"{code.co_filename if path.startswith('..') else path}:{code.co_firstlineno}"


def _contract(
    name: str, text: str, chosen: Settings, signature: Signature, words: "_Words", source: str
) -> ToolContract:
    fixed = chosen.cost if isinstance(chosen.cost, Decimal) else None
    return ToolContract(
        name=name,
        description=text,
        input_schema=signature.input_schema,
        output_schema=signature.output_schema,
        effect=words.effect,
        idempotency=words.idempotency,
        approval=words.approval,
        timeout_s=chosen.timeout_s,
        errors={kind.__name__: rule for kind, rule in chosen.errors.items()},
        retry=chosen.retry,
        scope=tuple(chosen.scope),
        identity=words.identity,
        data=dict(chosen.data),
        cost_usd=fixed,
        reports_cost=chosen.cost is not None and fixed is None,
        precondition=chosen.precondition,
        postcondition=chosen.postcondition,
        preview=chosen.preview if isinstance(chosen.preview, str) else "",
        has_preview=bool(chosen.preview),
        has_reconcile=chosen.reconcile is not None,
        has_compensate=chosen.compensate is not None,
        inline=chosen.inline,
        source=source,
    )


class _Words:
    """The words of the settings as the enums that they name."""

    __slots__ = ("approval", "effect", "idempotency", "identity")

    def __init__(self, effect: Effect, approval: Approval, idempotency: IdempotencyRule, identity: Identity) -> None:
        self.effect = effect
        self.approval = approval
        self.idempotency = idempotency
        self.identity = identity


def _words(chosen: Settings, place: Place) -> tuple[_Words | None, list[Fault]]:
    faults: list[Fault] = []
    effect = _one_of(Effect, chosen.effect, "effect", place, faults)
    approval = _one_of(Approval, chosen.approval, "approval", place, faults)
    identity = _one_of(Identity, chosen.identity, "identity", place, faults)
    rule = chosen.idempotency
    if not isinstance(rule, IdempotencyRule):
        kind = _one_of(Idempotency, rule, "idempotency", place, faults)
        if kind is Idempotency.KEY:
            hint = 'write `idempotency=key("operation_id")`'
            faults.append(Fault("bad_metadata", "`key` names the argument that holds the key", hint, place))
            kind = None
        rule = IdempotencyRule(kind) if kind is not None else NO_IDEMPOTENCY
    faults += _error_faults(chosen, place)
    cost: Any = chosen.cost
    if not (cost is None or isinstance(cost, Decimal) or callable(cost)):
        hint = 'write `usd("0.002")`, or a function'
        faults.append(Fault("bad_metadata", f"`{cost!r}` is no cost", hint, place))
    if faults:
        return None, faults
    return _Words(effect, approval, rule, identity), faults


def _error_faults(chosen: Settings, place: Place) -> Iterator[Fault]:
    names: set[str] = set()
    declared: Mapping[Any, Any] = chosen.errors
    for kind, rule in declared.items():
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            yield Fault("bad_metadata", f"`{kind!r}` is no error class", "write the class, not its name", place)
        elif not isinstance(rule, ErrorRule):
            yield Fault(
                "bad_metadata", f"`{kind.__name__}` has no rule", "write `no_effect()`, or an `ErrorRule`", place
            )
        elif kind.__name__ in names:
            hint = "the snippet knows errors by name: rename one of them"
            yield Fault("bad_metadata", f"two error classes are called `{kind.__name__}`", hint, place)
        names.add(getattr(kind, "__name__", ""))


def _one_of(kind: Any, word: object, field: str, place: Place, faults: list[Fault]) -> Any:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(f"`{each.value}`" for each in kind)
        faults.append(Fault("bad_metadata", f"`{word}` is no {field}", f"one of {known}", place))
        return None


def _cost(cost: Cost | None) -> Callable[[object], Mapping[str, Amount]] | None:
    if cost is None or isinstance(cost, Decimal):
        return None
    report = cost

    def used(result: object) -> Mapping[str, Amount]:
        said = report(result)
        return {"cost_usd": said} if isinstance(said, Decimal) else dict(said)

    return used


def _preview(chosen: Settings, signature: Signature) -> Callable[[Mapping[str, Json]], str] | None:
    """A function of one's own gets the arguments as the tool does."""
    made = preview_of(chosen.preview)
    if made is None or isinstance(chosen.preview, str):
        return made
    return lambda arguments: made(signature.decode(dict(arguments)))


def _by_keyword(function: Callable[..., object], positional_only: tuple[str, ...]) -> Callable[..., object]:
    if not positional_only:
        return function

    @functools.wraps(function)
    def called(**arguments: object) -> object:
        first = [arguments.pop(name) for name in positional_only if name in arguments]
        return function(*first, **arguments)

    return called


def _is_async(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(type(function).__call__)


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _place(source: str, name: str) -> Place:
    file, _, line = source.rpartition(":")
    return Place(file, int(line), 0, name) if file and line.isdecimal() else Place(source, key=name)
