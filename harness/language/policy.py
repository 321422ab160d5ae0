"""The policy of the restricted language as a table: every node kind that a snippet may hold, and why.

A kind that is not here is refused, whatever Python invents (D19). Names and modules stand in the tables that the box
shares: `sandbox_image.language.names`, `builtin_names` and `modules`.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["KINDS", "REFUSED_KINDS", "Kind", "Refusal", "Treatment"]


class Treatment(StrEnum):
    """What the checker does with a node."""

    LEAF = "leaf"
    """Nothing in it to look at."""
    PLAIN = "plain"
    """Its parts are looked at, itself needs no more."""
    RULE = "rule"
    """It has a rule of its own."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One node kind that is allowed."""

    treatment: Treatment
    reason: str
    """Why it is harmless, or what its rule looks at."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One node kind that Python has and the language does not."""

    what: str
    """As people call it."""
    reason: str
    hint: str
    """What to write instead."""


def _kinds(treatment: Treatment, reason: str, names: str) -> dict[str, Kind]:
    return {name: Kind(treatment, reason) for name in names.split()}


KINDS: dict[str, Kind] = {
    **_kinds(Treatment.LEAF, "a value, or nothing at all", "Constant Pass Break Continue"),
    **_kinds(Treatment.LEAF, "says how a name is used", "Load Store Del"),
    **_kinds(
        Treatment.LEAF,
        "an operator: calls methods that the operands' classes define, which a snippet defines by their allowed names",
        "And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub "
        "Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn",
    ),
    **_kinds(
        Treatment.PLAIN, "an expression of its parts", "BoolOp BinOp UnaryOp IfExp Starred Slice keyword NamedExpr"
    ),
    **_kinds(Treatment.PLAIN, "makes a value of its parts", "Dict Set List Tuple JoinedStr FormattedValue"),
    **_kinds(
        Treatment.PLAIN,
        "iterates: gives what its object gives to every loop, so a guard would be the identity",
        "ListComp SetComp DictComp GeneratorExp comprehension For While",
    ),
    **_kinds(
        Treatment.PLAIN,
        "reads, writes or deletes an item: no container of the box is within reach that is not the snippet's own",
        "Subscript",
    ),
    **_kinds(Treatment.PLAIN, "binds names and targets, each of which has its rule", "Delete With withitem"),
    **_kinds(Treatment.PLAIN, "decides, ends, raises", "If Expr Return Raise Try Assert"),
    **_kinds(
        Treatment.PLAIN,
        "suspends: what it gives has no attribute that leads to a frame",
        "Await Yield YieldFrom AsyncFor AsyncWith",
    ),
    **_kinds(
        Treatment.PLAIN,
        "parts of something that has its rule",
        "arguments match_case MatchSingleton MatchSequence MatchOr",
    ),
    **_kinds(Treatment.RULE, "names: special and reserved ones, and the builtins that are left out", "Name"),
    **_kinds(
        Treatment.RULE,
        "attributes: special, private, opaque and guarded ones; those of modules; every one that is written to",
        "Attribute",
    ),
    **_kinds(Treatment.RULE, "calls: format strings that are written out, and `super`", "Call"),
    **_kinds(Treatment.RULE, "reads what it writes: a guarded attribute is looked at as it is read", "AugAssign"),
    **_kinds(Treatment.RULE, "comparisons: `type(x) is T` stays Python's own", "Compare"),
    **_kinds(
        Treatment.RULE, "functions: their names, parameters, and whose `self` it is", "FunctionDef AsyncFunctionDef"
    ),
    **_kinds(Treatment.RULE, "functions without a name: their parameters", "Lambda arg"),
    **_kinds(Treatment.RULE, "classes: the special methods that they define", "ClassDef Assign AnnAssign"),
    **_kinds(Treatment.RULE, "names that it binds", "Global Nonlocal ExceptHandler"),
    **_kinds(Treatment.RULE, "modules and names of the contract's list", "Import ImportFrom alias"),
    **_kinds(
        Treatment.RULE,
        "attributes that a pattern reads, and those that a class names for it",
        "Match MatchValue MatchClass MatchMapping MatchStar MatchAs",
    ),
}
"""Kind → treatment and reason."""

REFUSED_KINDS: dict[str, Refusal] = {
    "TryStar": Refusal(
        "except*", "its groups have confused types before", "use `except`, and for a group look at e.exceptions"
    ),
    "TypeAlias": Refusal("a type statement", "not looked at yet", "write `X = int`"),
    "TypeVar": Refusal("a type parameter", "not looked at yet", "use typing.TypeVar, or leave the annotation out"),
    "ParamSpec": Refusal("a type parameter", "not looked at yet", "use typing.ParamSpec, or leave the annotation out"),
    "TypeVarTuple": Refusal("a type parameter", "not looked at yet", "use typing.TypeVarTuple, or leave it out"),
    "TemplateStr": Refusal("a template string", "not looked at yet", "use an f-string"),
    "Interpolation": Refusal("a template string", "not looked at yet", "use an f-string"),
}
"""Kinds that are refused by name; every other kind is refused as unknown."""
