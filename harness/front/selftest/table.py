"""The probes that have a box of their own, with the endings that count as held; and which probe tries which wall."""

from collections.abc import Mapping
from types import MappingProxyType

from harness.core.ending import ReasonCode
from harness.front.selftest.probe import Own

__all__ = ["CHANNEL", "ENDS", "SHARED", "TRIES"]

SHARED = ("network", "host", "rights", "exhaustion")
"""Files `box/snippet_….py` whose probes share one box: they look, ask, and give back."""

EXHAUSTED = ReasonCode.BUDGET_EXHAUSTED
BROKEN = ReasonCode.POLICY_REFUSED
GONE = ReasonCode.BOX_LOST

WALL = {EXHAUSTED: "wall_seconds"}
SHORT = {"wall_seconds": 1.5}
ENDS: tuple[Own, ...] = (
    Own("memory", {EXHAUSTED: "memory_mb", ReasonCode.CONTRACT_PASSED: ""}, ({"refused": "MemoryError"},)),
    Own("inodes", {EXHAUSTED: "memory_mb", ReasonCode.CONTRACT_PASSED: ""}, ({"ended": "ENOSPC"},)),
    Own("endless_loop", {EXHAUSTED: "_seconds"}, limits={"cpu_seconds": 1, "wall_seconds": 20}),
    Own("threads_in_c", {EXHAUSTED: "_seconds"}, limits={"cpu_seconds": 1, "wall_seconds": 20}),
    Own("endless_match", WALL, limits=SHORT),
    Own("endless_sleep", WALL, limits=SHORT),
    Own("ignored_signals", WALL, limits=SHORT),
    Own("stopped", WALL, limits=SHORT),
    Own("fork_bomb", {EXHAUSTED: ""}, limits=SHORT),
    Own("printed_lines", {EXHAUSTED: "output_bytes"}),
    Own("printed_without_lines", {EXHAUSTED: "output_bytes"}),
)
"""Exhaustion: the limit that must have ended the run stands in the reason."""


def _broken(function: str, code: str) -> Own:
    return Own(function, {BROKEN: code})


CHANNEL: tuple[Own, ...] = (
    Own("success_on_standard_output", {ReasonCode.SNIPPET_FAILED: "SystemExit"}),
    _broken("second_hello", "out_of_turn"),
    _broken("wrong_token", "out_of_turn"),
    _broken("replayed_call", "falling_id"),
    _broken("call_without_a_number", "wrong_shape"),
    _broken("call_that_names_a_command", "wrong_shape"),
    _broken("answer_to_oneself", "wrong_shape"),
    _broken("idle_for_a_stranger", "unknown_id"),
    _broken("deep_nesting", "too_deep"),
    _broken("oversized", "too_long"),
    _broken("empty_frame", "empty_frame"),
    _broken("not_utf8", "not_utf8"),
    _broken("duplicate_keys", "duplicate_key"),
    _broken("not_a_number", "not_finite"),
    _broken("pickled", ""),
    _broken("truncated", "truncated"),
    _broken("interleaved", ""),
    Own("slow", WALL, limits=SHORT),
    Own("late_call", {ReasonCode.CONTRACT_PASSED: ""}, ({"ended": True},)),
    Own("late_call_of_a_child", {ReasonCode.CONTRACT_PASSED: ""}, ({"ended": True},)),
    Own("second_result", {ReasonCode.CONTRACT_PASSED: ""}, ({"ended": True},)),
    Own("unlisted_tool", {ReasonCode.CONTRACT_PASSED: ""}, ({"ended": True},)),
    Own("reserved_tool", {ReasonCode.CONTRACT_PASSED: ""}, ({"ended": True},)),
)
"""The channel: the rule that was broken stands in the reason; or the forgery changed nothing."""

TRIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "network": ("network.loopback", "network.internet-sockets", "network.every-family"),
        "root": ("rights.write-the-root",),
        "work": ("exhaustion.disk", "exhaustion.inodes"),
        "devices": ("host.devices", "rights.make-devices"),
        "proc": ("host.proc", "host.mounts", "host.sys"),
        "environment": ("host.environment", "host.other-environments"),
        "descriptors": ("host.descriptors",),
        "user": ("rights.user", "rights.change-user"),
        "capabilities": ("rights.capabilities", "rights.set-capabilities"),
        "privileges": ("rights.execute",),
        "tracing": ("rights.memory-of-others", "rights.trace"),
        "filter": ("rights.io-uring", "rights.bpf", "rights.namespaces", "host.keyrings"),
        "paths": ("host.other-folders",),
        "tree": ("exhaustion.double-fork",),
        "neighbours": ("host.neighbours", "rights.signal-outward"),
        "one-run": ("host.one-run",),
    }
)
"""Wall of `harness.sandbox.isolation` → the probes that fall without it."""
