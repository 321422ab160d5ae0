"""Loading: a file or a mapping becomes a contract or a policy, or every fault at once with its place.

Nothing is executed, imported or fetched, whatever the document says.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.contract.document import MAX_BYTES, MAX_DEPTH, NO_PLACES, Document, Places, key_text
from harness.contract.faults import model_faults, refusal
from harness.contract.json_text import parse_json
from harness.contract.model import BINDINGS, Contract
from harness.contract.policy import Policy
from harness.contract.rules import contract_faults
from harness.contract.salvage import salvage
from harness.contract.sections import Section, Whole
from harness.contract.todo import todo_faults
from harness.contract.tool import ToolContract
from harness.contract.yaml_text import parse_yaml
from harness.core.canonical import canonical
from harness.core.errors import Fault, HostileInput, Place
from harness.core.files import read_start

__all__ = ["build_model", "inspect_contract", "load_contract", "load_policy", "parse_document", "read_document"]

_SURROGATE = re.compile("[\ud800-\udfff]")
Model = TypeVar("Model", bound=Section)


def load_contract(
    source: Path | str | Mapping[str, Any], *, tools: Mapping[str, ToolContract] | None = None
) -> Contract:
    """A contract from a file (YAML or JSON) or a mapping.

    With `tools`, what needs the tool surface is looked at too: unregistered tools, scopes, checks. Raises
    ContractRefused with every fault.
    """
    contract, faults = inspect_contract(source, tools)
    if faults or contract is None:
        raise refusal(faults)
    return contract


def inspect_contract(
    source: Path | str | Mapping[str, Any],
    tools: Mapping[str, ToolContract] | None,
    further: Callable[[Contract], Iterable[Fault]] = lambda _contract: (),
) -> tuple[Contract | None, list[Fault]]:
    """The contract where its shape is right, and every fault of it.

    `further` looks at what is beyond the document itself. Where the shape is wrong the sound part is looked at, so that
    a misspelt key hides no scope. Raises ContractRefused where there is no document.
    """
    document = read_document(source)
    _check_texts(document)
    todo = todo_faults(document)
    try:
        contract = _validated(Contract, document)
    except ValidationError as error:
        left = {fault.place for fault in todo}
        shape = model_faults(error, Contract, document.places, BINDINGS)
        faults = [*todo, *(each for each in shape if each.place not in left)]
        rest = salvage(document.values, error)
        if rest is not None:
            sound = rest.contract.with_places(document.places)
            faults += [each for each in (*contract_faults(sound, tools), *further(sound)) if rest.tells(each)]
        return None, faults
    return contract, [*todo, *contract_faults(contract, tools), *further(contract)]


def load_policy(source: Path | str | Mapping[str, Any]) -> Policy:
    """A policy from a file or a mapping. Raises ContractRefused with every fault."""
    return build_model(Policy, read_document(source))


def build_model(model: type[Model], document: Document, bindings: Mapping[str, str] | None = None) -> Model:
    """The model that a document holds. Raises ContractRefused with every fault of its shape."""
    _check_texts(document)
    try:
        return _validated(model, document)
    except ValidationError as error:
        raise refusal(model_faults(error, model, document.places, bindings)) from None


def _check_texts(document: Document) -> None:
    faults = list(_text_faults(document.values, (), document.places))
    if not isinstance(document.values, Mapping):
        hint = "begin with a key and a colon"
        faults.append(Fault("wrong_type", "the document is not a mapping", hint, document.places.of("")))
    if faults:
        raise refusal(faults)


def _validated(model: type[Model], document: Document) -> Model:
    """Raises ValidationError; ContractRefused where a value has no JSON form."""
    built = model.model_validate(dict(document.values))
    try:
        canonical(built.stated())
    except HostileInput as error:
        raise refusal([_not_json(error, document.places)]) from None
    if isinstance(built, Whole):
        built.with_places(document.places)
    return built


def read_document(source: Path | str | Mapping[str, Any]) -> Document:
    """A file's document, or a mapping as one. Raises ContractRefused."""
    if isinstance(source, Mapping):
        return Document(source, NO_PLACES)
    path, shown = Path(source), str(source)
    try:
        data = read_start(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise refusal(
            [Fault("unreadable", f"`{shown}` cannot be read: {why}", "check the path", Place(shown))]
        ) from None
    if len(data) > MAX_BYTES:
        said = f"`{shown}` is larger than {MAX_BYTES} bytes"
        raise refusal([Fault("too_long", said, "leave out what is not contract", Place(shown))])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal([Fault("not_utf8", "the file is not UTF-8", "save it so", Place(shown, line))]) from None
    return parse_document(text, shown)


def parse_document(text: str, file: str) -> Document:
    """The values of a text and the line of every key: JSON where the file's name ends so, else YAML.

    Raises ContractRefused.
    """
    return parse_json(text, file) if file.endswith(".json") else parse_yaml(text, file)


def _text_faults(value: Any, path: tuple[str | int, ...], places: Places) -> Iterator[Fault]:
    """Texts that are no text, and nesting without end: nothing else may look at them."""
    if len(path) > MAX_DEPTH:
        place = places.of(key_text(path[:4]))
        yield Fault("too_deep", f"the document is nested deeper than {MAX_DEPTH} levels", "flatten it", place)
    elif isinstance(value, str):
        if _SURROGATE.search(value):
            place = places.of(key_text(path))
            yield Fault("surrogate", "the text holds a lone surrogate, which is no character", "write it anew", place)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if isinstance(name, str) and _SURROGATE.search(name):
                yield Fault("surrogate", "a key holds a lone surrogate", "write it anew", places.of(key_text(path)))
            else:
                yield from _text_faults(each, (*path, str(name)), places)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _text_faults(each, (*path, index), places)


def _not_json(error: HostileInput, places: Places) -> Fault:
    return Fault("not_json", f"a value has no JSON form: {error.message}", "write a finite JSON value", places.of(""))
