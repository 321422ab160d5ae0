"""Loading a contract: every fault at once, each with file, line, key and way out."""

import math
from pathlib import Path

import pytest

from harness.contract.load import load_contract
from harness.contract.model import BINDINGS, contract_digest
from harness.core.errors import Fault, Place
from tests.contract.making import FULL, SMALL, TOOLS, codes, document, faults_of, short


def test_the_worked_example_loads_with_its_tools(tmp_path: Path) -> None:
    """The contract of the reference, which uses every key, has no fault."""
    file = tmp_path / "c.yaml"
    file.write_text(FULL)
    contract = load_contract(file, tools=TOOLS)
    assert (contract.contract, contract.version, contract.budget.tokens) == ("record-repair", 3, 50_000)
    assert contract.destination[0].retention == 30 * 86_400


@pytest.mark.parametrize("binding", BINDINGS)
def test_each_binding_is_required(binding: str) -> None:
    """A contract that lacks one is refused, and told what the binding says."""
    faults = faults_of(load_contract, document(**{binding: None}))
    said = f"the binding `{binding}` is missing"
    assert faults == [
        Fault("binding_missing", said, f"add `{binding}:`, it says {BINDINGS[binding]}", Place(key=binding))
    ]


def test_all_missing_bindings_are_named_at_once(tmp_path: Path) -> None:
    """One load names everything that lacks, none hides the next."""
    file = tmp_path / "c.yaml"
    file.write_text("contract: x\nversion: 1\n")
    assert [fault.place.key for fault in faults_of(load_contract, file)] == list(BINDINGS)


def test_a_fault_names_file_line_key_and_way_out(tmp_path: Path) -> None:
    """The first thing that a person sees of a fault."""
    file = tmp_path / "c.yaml"
    file.write_text(SMALL.replace("retries: 0", "retires: 0").replace("output.n", "output.m"))
    faults = faults_of(load_contract, file)
    assert [str(fault) for fault in faults] == [
        f"{file}:5 budget.retries: the key `retries` is missing in `budget` (add `retries:`)",
        f"{file}:5 budget.retires: the key `retires` is not known (did you mean `retries`?)",
        f"{file}:9 completion.success: `output.m > 0`: there is no field `m` (there are: n)",
    ]


@pytest.mark.parametrize(
    ("where", "over"),
    [
        ("bugdet", {"bugdet": {}}),
        ("budget.call", {"budget": {**document()["budget"], "call": 3}}),
        ("permissions.tools[0].scop", {"permissions": {"tools": [{"tool": "read_record", "scop": {}}]}}),
        ("sandbox.import", {"sandbox": {"import": ["json"]}}),
        ("completion.sucess", {"completion": {"success": "true", "sucess": "true"}}),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(where: str, over: dict) -> None:
    """Keys are closed, at every level."""
    faults = faults_of(load_contract, document(**over))
    assert short(faults) == [("unknown_key", 0, where)]
    assert faults[0].hint.startswith("did you mean")


@pytest.mark.parametrize("dimension", ["tokens", "cost_usd", "wall_seconds", "retries", "iterations", "memory_mb"])
@pytest.mark.parametrize(
    "amount",
    [-1, -0.01, math.nan, math.inf, -math.inf, "many", "-1", "NaN", "Infinity", "sNaN", True, None, [1], 10**40],
)
def test_budgets_that_are_no_amounts_are_refused(dimension: str, amount: object) -> None:
    """Negative, NaN, infinite, text and missing are load errors, for every dimension."""
    budget = {**document()["budget"], dimension: amount}
    found = codes(document(budget=budget))
    optional = dimension == "memory_mb" and amount is None
    assert found == ([] if optional else [("bad_amount", f"budget.{dimension}")])


@pytest.mark.parametrize(
    ("amount", "loads"), [("0", True), (0, True), ("0.50", True), (0.1, True), ("1e3", True), ("0,5", False)]
)
def test_money_is_exact(amount: object, loads: bool) -> None:
    """Money is text or a number, and keeps its digits."""
    found = codes(document(budget={**document()["budget"], "cost_usd": amount}))
    assert (found == []) is loads


@pytest.mark.parametrize("dimension", ["tokens", "cost_usd", "retries"])
def test_zero_is_an_amount(dimension: str) -> None:
    """0 for tokens, cost and retries means none, and loads."""
    assert codes(document(budget={**document()["budget"], dimension: 0})) == []


@pytest.mark.parametrize(
    ("success", "code"),
    [
        ("output.m > 0", "unknown_field"),
        ("output.n > 'a'", "type_mismatch"),
        ("output.n", "type_mismatch"),
        ("out.n > 0", "unknown_name"),
        ("output.n >", "bad_predicate"),
        ("", "empty"),
        ("params.floor > 1", "unknown_field"),
        ("run.iterations > 1", "unknown_field"),
        ("budget.token > 1", "unknown_field"),
        ("checks['x'].status == 'failed'", "unknown_field"),
        ("inputs.x == 'a'", "unknown_field"),
    ],
)
def test_expressions_are_typed_when_loaded(success: str, code: str) -> None:
    """A misspelt field, a text compared with a number, a number that stands for a condition: none waits for a run."""
    assert codes(document(completion={"success": success})) == [(code, "completion.success")]


@pytest.mark.parametrize("version", ["3", 0, -1, 1.5, True])
def test_versions_are_whole_numbers_from_one(version: object) -> None:
    """A version in quotes is a text."""
    assert codes(document(version=version)) == [("bad_amount", "version")]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (b"", "bad_yaml"),
        (b"- a\n", "wrong_type"),
        (b"a: [", "bad_yaml"),
        (b"a: 1\na: 2\n", "duplicate_key"),
        (b"\xff\xfe", "not_utf8"),
        (b"a: &x 1\nb: *x\n", "yaml_anchor"),
        (b"a: !!python/object/apply:os.system [id]\n", "yaml_tag"),
        (b"[" * 100_000, "bad_yaml"),
        (b"---\na: 1\n---\nb: 2\n", "several_documents"),
        (b"x" * 1_000_001, "too_long"),
    ],
    ids=["empty", "list", "open", "twice", "utf16", "anchor", "tag", "deep", "two", "long"],
)
def test_files_that_are_no_contract_are_refused(tmp_path: Path, source: bytes, code: str) -> None:
    """Whatever a file holds, it is refused with a code, and nothing is executed."""
    file = tmp_path / "c.yaml"
    file.write_bytes(source)
    assert code in [fault.code for fault in faults_of(load_contract, file)]


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """The name of the file is in the sentence."""
    file = tmp_path / "no.yaml"
    said = f"`{file}` cannot be read: No such file or directory"
    assert faults_of(load_contract, file) == [Fault("unreadable", said, "check the path", Place(str(file)))]


def test_yaml_json_and_python_give_one_digest(tmp_path: Path) -> None:
    """How a contract is written does not change what it says."""
    import json

    (tmp_path / "c.yaml").write_text(FULL)
    (tmp_path / "c.json").write_text(json.dumps(document(FULL)))
    found = {
        contract_digest(load_contract(each)) for each in (tmp_path / "c.yaml", str(tmp_path / "c.json"), document(FULL))
    }
    assert len(found) == 1


def test_any_change_changes_the_digest() -> None:
    """One version has one digest: whatever a run reads is in it."""
    first = contract_digest(load_contract(document()))
    changed = [
        document(version=2),
        document(params={"x": 1}),
        document(completion={"success": "output.n > 1"}),
        document(permissions={"tools": [{"tool": "read_record", "scope": {"tenant": "other"}}]}),
        document(destination=[{"to": "file:other/${run.id}.json"}]),
        document(sandbox={"language": "plain"}),
        document(budget={**document()["budget"], "calls": 1}),
    ]
    digests = {contract_digest(load_contract(each)) for each in changed}
    assert len(digests) == len(changed)
    assert first not in digests


def test_a_stated_default_says_nothing_new() -> None:
    """A value that equals its default counts as unstated: new keys do not change old digests."""
    stated = document(non_goals=[], params={}, escalate=[])
    assert contract_digest(load_contract(stated)) == contract_digest(load_contract(document()))


@pytest.mark.parametrize(
    "params",
    [{"x": math.nan}, {"x": math.inf}, {"x": "\ud800"}, {"x": object()}, {"x": {1: 2}}],
    ids=["nan", "inf", "surrogate", "object", "number-key"],
)
def test_values_without_a_json_form_are_refused(params: dict) -> None:
    """C11, C12: a contract from Python obeys the rules of one from a file."""
    assert codes(document(params=params))[0][0] in ("not_json", "surrogate")
