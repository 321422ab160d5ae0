"""Two policies side by side: what lets more through and what less, key by key."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from harness.contract.diff import Change, Direction
from harness.contract.policy import Policy
from harness.core.call import Approval, Json

__all__ = ["policy_diff"]

LOOSER, STRICTER, OTHER = Direction.LOOSER, Direction.STRICTER, Direction.OTHER
ALLOWED = ("effects", "backends", "runtimes", "images", "imports", "destinations", "private_hosts", "languages")
"""Lists of what is let through: one more is looser."""


def policy_diff(before: Policy, after: Policy) -> tuple[Change, ...]:
    """Every change, in the order of keys; id and version are none. Equal policies give none."""
    old, new = _plain(before), _plain(after)
    return tuple(change for key in sorted(old) for change in _key(key, old[key], new[key]))


def _plain(policy: Policy) -> dict[str, Any]:
    document: dict[str, Any] = policy.model_dump(by_alias=True, mode="json", exclude={"policy", "version"})
    document["approvers"] = {each["name"]: each for each in document["approvers"]}
    return document


def _key(key: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if key in ALLOWED:
        yield from _set(key, old, new)
        if key == "languages" and old[0] != new[0]:
            yield Change("languages[0]", old[0], new[0], LOOSER if new[0] == "plain" else STRICTER)
    elif key == "ceilings":
        for name in old:
            if old[name] != new[name]:
                yield Change(f"ceilings.{name}", old[name], new[name], _more(old[name], new[name]))
    elif key in ("approval", "tool_approval"):
        yield from _approvals(key, old, new)
    elif key in ("approvers", "secrets", "callers"):
        yield from _entries(key, old, new)
    else:
        yield from _single(key, old, new)


def _single(key: str, old: Json, new: Json) -> Iterator[Change]:
    if key == "tools":
        if isinstance(old, list) and isinstance(new, list):
            yield from _set(key, old, new)
        else:
            yield Change(key, old, new, LOOSER if new is None else STRICTER)
    elif key == "max_read_age":
        looser = new is None or (old is not None and Decimal(str(new)) > Decimal(str(old)))
        yield Change(key, old, new, LOOSER if looser else STRICTER)
    elif key == "approvals_needed":
        yield Change(key, old, new, STRICTER if _more(old, new) is LOOSER else LOOSER)
    elif key in ("grants", "mask_unlabelled"):
        yield Change(key, old, new, LOOSER if bool(new) is (key == "grants") else STRICTER)
    else:
        yield Change(key, old, new, OTHER)


def _set(key: str, old: list[Json], new: list[Json]) -> Iterator[Change]:
    for each in [item for item in new if item not in old]:
        yield Change(f"{key}.{each}", None, each, LOOSER)
    for each in [item for item in old if item not in new]:
        yield Change(f"{key}.{each}", each, None, STRICTER)


def _approvals(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        levels = [Approval(each or Approval.NONE).strictness for each in (was, now)]
        if levels[0] != levels[1]:
            yield Change(f"{key}.{name}", was, now, STRICTER if levels[1] > levels[0] else LOOSER)


def _entries(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Approvers and secrets let more through with each entry; a contract without a line is open to every caller."""
    appeared, gone = (STRICTER, LOOSER) if key == "callers" else (LOOSER, STRICTER)
    for name in sorted({*old, *new}):
        was, now, place = old.get(name), new.get(name), f"{key}.{name}"
        if was is None or now is None:
            yield Change(place, was, now, appeared if was is None else gone)
        elif isinstance(was, list):
            yield from _set(place, was, now)
        else:
            for part in sorted({*was, *now}):
                yield from _part(f"{place}.{part}", was.get(part), now.get(part))


def _part(place: str, was: Json, now: Json) -> Iterator[Change]:
    if was == now:
        return
    if not isinstance(was, list) or not isinstance(now, list):
        yield Change(place, was, now, OTHER)
    elif place.endswith(".hosts") and not (was and now):
        # No host named means every host.
        yield Change(place, was, now, LOOSER if was else STRICTER)
    else:
        yield from _set(place, was, now)


def _more(old: Json, new: Json) -> Direction:
    return LOOSER if Decimal(str(new)) > Decimal(str(old)) else STRICTER
