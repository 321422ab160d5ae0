"""Transcripts that stay whole: every tool use has its answer, after a pause, a denial, a crash or a cancel. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.front.mcp.answers import DO_NOT_RETRY, is_error

__all__ = ["anthropic_answer", "complete_anthropic", "complete_openai", "lost", "openai_answer"]

Message = dict[str, Any]


def lost() -> dict[str, Any]:
    """The answer for a use whose ending nobody saw."""
    return {"status": "lost", "outcome": "unresolved", "failure": {"type": "Lost"}, "faults": [], "next": DO_NOT_RETRY}


def anthropic_answer(use: str, answer: Mapping[str, Any]) -> Message:
    """The block `tool_result` for the `tool_use` of that id."""
    text = json.dumps(answer, ensure_ascii=False)
    return {"type": "tool_result", "tool_use_id": use, "content": text, "is_error": is_error(answer)}


def openai_answer(use: str, answer: Mapping[str, Any]) -> Message:
    """The message of the role `tool` for the call of that id."""
    return {"role": "tool", "tool_call_id": use, "content": json.dumps(answer, ensure_ascii=False)}


def complete_anthropic(
    messages: Sequence[Message], answers: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Message]:
    """The messages with a `tool_result` for every `tool_use`, in the very next message, results first.

    `answers` holds those that are known, by id of the use; for the rest the ending is said to be unknown.
    """
    known = answers or {}
    whole: list[Message] = []
    waiting: list[str] = []
    for message in [*messages, {"role": "user", "content": []}]:
        if waiting:
            blocks = _blocks(message) if message.get("role") == "user" else []
            given = {block["tool_use_id"]: block for block in blocks if block.get("type") == "tool_result"}
            results = [given.get(use) or anthropic_answer(use, known.get(use, lost())) for use in waiting]
            rest = [block for block in blocks if block.get("type") != "tool_result"]
            whole.append({"role": "user", "content": [*results, *rest]})
            waiting = []
            if message.get("role") == "user":
                continue
        whole.append(dict(message))
        waiting = _uses(message) if message.get("role") == "assistant" else []
    return whole[:-1] if whole and whole[-1] == {"role": "user", "content": []} else whole


def complete_openai(
    messages: Sequence[Message], answers: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Message]:
    """The messages with one of the role `tool` for every call, right behind the message that made it."""
    known = answers or {}
    given = {each["tool_call_id"]: each for each in messages if each.get("role") == "tool"}
    whole: list[Message] = []
    for message in messages:
        if message.get("role") == "tool":
            continue
        whole.append(dict(message))
        for call in message.get("tool_calls") or ():
            use = call["id"]
            whole.append(given.get(use) or openai_answer(use, known.get(use, lost())))
    return whole


def _blocks(message: Mapping[str, Any]) -> list[Message]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [dict(block) for block in content or ()]


def _uses(message: Mapping[str, Any]) -> list[str]:
    return [block["id"] for block in _blocks(message) if block.get("type") == "tool_use"]
