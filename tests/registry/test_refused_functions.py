"""What a function or its settings cannot be a tool with: every fault at once, each with its place and way out."""

from typing import Any, TypedDict

import pytest

from harness.core.errors import RegistryRefused
from harness.registry.decorator import key, no_effect, retry
from harness.registry.from_function import from_function
from harness.registry.settings import Settings


class Stale(Exception):
    """Somebody wrote first."""


def _faults(function: Any, settings: Settings | None = None) -> list[tuple[str, str, str, str]]:
    with pytest.raises(RegistryRefused) as refused:
        from_function(function, settings)
    return [(fault.code, fault.place.key, fault.message, fault.hint) for fault in refused.value.faults]


def test_every_fault_of_a_signature_is_told_at_once() -> None:
    """Star arguments and types without a schema, each with its argument."""

    class Odd:
        pass

    def f(a: Odd, *rest: int, **more: int) -> Odd: ...

    assert [(code, place) for code, place, _, _ in _faults(f)] == [
        ("bad_annotation", "f.a"),
        ("bad_annotation", "f.rest"),
        ("bad_annotation", "f.more"),
        ("bad_annotation", "f.return"),
    ]


def test_a_generator_is_no_tool() -> None:
    """It would act only while somebody reads it."""

    def f() -> Any:
        yield 1

    assert _faults(f) == [("bad_annotation", "f", "a generator has no result", "return a list")]


def test_an_annotation_that_names_nothing_is_told() -> None:
    """Not a NameError in the user's face."""

    def f(a: "Nowhere") -> None: ...  # noqa: F821

    assert _faults(f) == [
        (
            "bad_annotation",
            "f",
            "the annotations cannot be read: name 'Nowhere' is not defined",
            "annotate with names that exist when the module has been imported",
        )
    ]


def _take(record_id: int, text: str = "") -> dict[str, Any]: ...


class Out(TypedDict):
    version: int


def _give(record_id: int) -> Out: ...


@pytest.mark.parametrize(
    ("function", "settings", "fault"),
    [
        (
            _take,
            Settings(effect="delete"),  # type: ignore[arg-type]
            ("bad_metadata", "_take", "`delete` is no effect", "one of `read`, `write`, `destructive`"),
        ),
        (
            _take,
            Settings(idempotency="key"),  # type: ignore[arg-type]
            (
                "bad_metadata",
                "_take",
                "`key` names the argument that holds the key",
                'write `idempotency=key("operation_id")`',
            ),
        ),
        (
            _take,
            Settings(scope=("record",)),
            ("bad_scope", "_take", "the scope names `record`, which is no argument", "did you mean `record_id`?"),
        ),
        (
            _take,
            Settings(idempotency=key("text")),
            (
                "bad_idempotency",
                "_take",
                "the key `text` may be left out",
                "take away its default: a call without a key could not be repeated safely",
            ),
        ),
        (
            _take,
            Settings(errors={"Stale": no_effect()}),  # type: ignore[dict-item]
            ("bad_metadata", "_take", "`'Stale'` is no error class", "write the class, not its name"),
        ),
        (
            _take,
            Settings(errors={Stale: no_effect}),  # type: ignore[dict-item]
            ("bad_metadata", "_take", "`Stale` has no rule", "write `no_effect()`, or an `ErrorRule`"),
        ),
        (
            _take,
            Settings(cost=0.5),  # type: ignore[arg-type]
            ("bad_metadata", "_take", "`0.5` is no cost", 'write `usd("0.002")`, or a function'),
        ),
        (
            _take,
            Settings(timeout_s=0),
            ("bad_metadata", "_take", "`timeout_s` is `0`", "a number of seconds above zero"),
        ),
        (
            _take,
            Settings(retry=retry(3)),
            (
                "bad_metadata",
                "_take",
                "`retry` is set, and no error class is declared retryable",
                "declare the classes with `errors={RateLimited: no_effect(retry=True)}`",
            ),
        ),
        (
            _take,
            Settings(effect="destructive"),
            (
                "no_preview",
                "_take.preview",
                "a destructive tool needs a preview that a person can read",
                'write `preview="remove the record {record_id}"`, or a function of the arguments',
            ),
        ),
        (
            _take,
            Settings(preview="{recrd_id}"),
            (
                "bad_preview",
                "_take.preview",
                "the preview names `recrd_id`, which is no argument",
                "did you mean `record_id`?",
            ),
        ),
        (
            _take,
            Settings(preview="{record_id.__class__}"),
            (
                "bad_preview",
                "_take.preview",
                "the preview names `record_id.__class__`, which is no argument",
                "did you mean `record_id`?",
            ),
        ),
        (
            _take,
            Settings(preview="{record_id"),
            ("bad_preview", "_take.preview", "the preview has a single brace; write `{{` for a brace of the text", ""),
        ),
        (
            _give,
            Settings(data={"verson": "pii"}),
            ("bad_data_label", "_give.data", "`verson` names no field of the result", "did you mean `version`?"),
        ),
    ],
)
def test_metadata_that_cannot_be_right_is_refused(function: Any, settings: Settings, fault: tuple[str, ...]) -> None:
    """Registration fails before any run, with the place and the way out."""
    assert _faults(function, settings) == [fault]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (Settings(precondition="args.recrd_id > 0"), "_give.precondition"),
        (Settings(precondition="args.record_id > 'a'"), "_give.precondition"),
        (Settings(postcondition="result.verson > 0"), "_give.postcondition"),
        (Settings(postcondition="result.version"), "_give.postcondition"),
    ],
)
def test_a_predicate_that_does_not_type_is_refused(settings: Settings, place: str) -> None:
    """A misspelt field, unlike types, or no truth value at all."""
    assert [fault[1] for fault in _faults(_give, settings)] == [place]
