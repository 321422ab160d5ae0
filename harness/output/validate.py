"""The output's schema, held on the host: what the snippet returned is nothing until it fits."""

from harness.contract.schema import SchemaFault, Validator
from harness.core.call import Json

__all__ = ["MAX_FAULTS", "validate"]

MAX_FAULTS = 20
"""Faults that are told of one output: enough to mend it in one go, and one screen."""


def validate(value: Json, validator: Validator) -> tuple[SchemaFault, ...]:
    """What does not fit, with paths, at most `MAX_FAULTS`; empty only where the value fits."""
    if validator.ok(value):
        return ()
    faults = tuple(validator.faults(value)[:MAX_FAULTS])
    return faults or (SchemaFault("$", "the value does not fit the schema", "a value that fits", "another"),)
