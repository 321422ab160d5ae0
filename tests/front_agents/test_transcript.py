"""No conversation is left broken: every use of a tool has its answer, and an unknown ending says `do not retry`."""

import json

from harness.front.agents.transcript import complete_anthropic, complete_openai, lost

ANSWER = {"status": "ended", "outcome": "accepted", "failure": None, "faults": [], "result": 3, "next": "done"}


def use(name: str) -> dict:
    return {"type": "tool_use", "id": name, "name": "harness_run_x", "input": {"snippet": "return 1"}}


def result(name: str, text: str = "given") -> dict:
    return {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": False}


def test_anthropic_uses_are_answered_in_the_next_message() -> None:
    """One was answered, one is known by now, one was lost; what the person wrote comes behind the results."""
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "three"}, use("a"), use("b"), use("c")]},
        {"role": "user", "content": [{"type": "text", "text": "and?"}, result("b")]},
        {"role": "assistant", "content": [use("d")]},
    ]
    whole = complete_anthropic(messages, {"a": ANSWER})
    assert [message["role"] for message in whole] == ["user", "assistant", "user", "assistant", "user"]
    a, b, c, text = whole[2]["content"]
    assert (a["tool_use_id"], a["is_error"], json.loads(a["content"])["result"]) == ("a", False, 3)
    assert b == result("b")
    assert (c["tool_use_id"], c["is_error"]) == ("c", True)
    assert json.loads(c["content"])["next"].startswith("do not retry")
    assert text == {"type": "text", "text": "and?"}
    assert [block["tool_use_id"] for block in whole[4]["content"]] == ["d"]
    assert complete_anthropic(whole) == whole


def test_an_answer_is_put_between_two_turns_of_the_assistant() -> None:
    """A crash can leave them side by side."""
    messages = [{"role": "assistant", "content": [use("a")]}, {"role": "assistant", "content": "so"}]
    assert [message["role"] for message in complete_anthropic(messages)] == ["assistant", "user", "assistant"]


def test_openai_calls_are_answered_behind_their_message() -> None:
    """Answers that came late are put in their place."""
    call = {"id": "a", "type": "function", "function": {"name": "harness_run_x", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "tool_calls": [call, {**call, "id": "b"}]},
        {"role": "user", "content": "and?"},
        {"role": "tool", "tool_call_id": "b", "content": "given"},
    ]
    whole = complete_openai(messages)
    assert [message.get("tool_call_id") for message in whole] == [None, "a", "b", None]
    assert json.loads(whole[1]["content"]) == lost()
    assert complete_openai(whole) == whole


def test_a_transcript_without_tools_stays_as_it_is() -> None:
    """Nothing is invented."""
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"}]
    assert complete_anthropic(messages) == messages
    assert complete_openai(messages) == messages
    assert complete_anthropic([]) == []
