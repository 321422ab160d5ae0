"""How a snippet ends, what it finds, what it prints: real runners in processes of their own."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.gateway.rig import play

ENDS = {
    "the last expression": ("x = 2\nx + 1", 3, False),
    "return": ("return {'a': [1, None]}", {"a": [1, None]}, False),
    "return before the last expression": ("if True:\n    return 1\n2", 1, False),
    "nothing": ("x = 1", None, True),
    "an empty snippet": ("", None, True),
    "return None": ("return None", None, True),
    "false is something": ("return False", False, False),
    "await at the top": ("import asyncio\nawait asyncio.sleep(0)\nreturn 1", 1, False),
    "a coroutine as last value": ("async def main():\n    return 4\nmain()", 4, False),
    "a coroutine that gives a coroutine": (
        "async def a():\n    return 4\nasync def b():\n    return a()\nb()",
        4,
        False,
    ),
    "asyncio.run": ("import asyncio\nasync def main():\n    return 5\nasyncio.run(main())", 5, False),
    "a loop of its own": (
        "import asyncio\nasync def main():\n    return 6\nloop = asyncio.new_event_loop()\nloop.run_until_complete(main())",
        6,
        False,
    ),
    "main guard": ("def main():\n    return 7\nif __name__ == '__main__':\n    x = main()\nx", 7, False),
    "globals are the module's": ("n = 0\ndef add():\n    global n\n    n += 1\nadd()\nadd()\nn", 2, False),
    "a tuple": ("return (1, (2, 3))", [1, [2, 3]], False),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: list\nreturn P(1, [P(2, [])])",
        {"x": 1, "y": [{"x": 2, "y": []}]},
        False,
    ),
    "times, decimals, ids, bytes": (
        "import datetime as dt, decimal, uuid\n"
        "return [dt.datetime(2026, 1, 2, 3), dt.date(2026, 1, 2), dt.timedelta(seconds=90), decimal.Decimal('1.10'), "
        "uuid.UUID(int=1), b'ab']",
        ["2026-01-02T03:00:00", "2026-01-02", "P0DT90S", "1.10", "00000000-0000-0000-0000-000000000001", "YWI="],
        False,
    ),
    "enums": ("import enum\nclass E(enum.Enum):\n    A = 'x'\nreturn [E.A, {'k': E.A}]", ["x", {"k": "x"}], False),
    "a long integer": ("return 2 ** 200", 2**200, False),
}


@pytest.mark.parametrize(("source", "result", "none"), ENDS.values(), ids=ENDS.keys())
def test_a_snippet_ends_with_its_value(source, result, none) -> None:
    """D05: a module that may return and await at its top; where it does not return, its last expression counts."""
    ended = play(source)
    assert (ended.failed, ended.result, ended.none) == (None, result, none)


NO_RESULTS = {
    "a set": ("return {'a': {1, 2}}", "TypeError", "the result at `$.a` is of type `set`, which JSON lacks; use sorted(…)"),
    "NaN": ("return [1, float('nan')]", "ValueError", "the result at `$[1]` is `nan`, which JSON lacks"),
    "infinity": ("return float('inf')", "ValueError", "the result is `inf`, which JSON lacks"),
    "a lone surrogate": (
        "return {'t': 'a\\ud83d'}",
        "ValueError",
        "the result at `$.t` holds a lone surrogate at character 1, which is no character",
    ),
    "a key that is no text": (
        "return {1: 2}",
        "TypeError",
        "the result has the key `1` of type `int`; JSON keys are text: use str(key)",
    ),
    "deep": (
        "x = []\nfor _ in range(100000):\n    x = [x]\nreturn x",
        "ValueError",
        "the result is nested deeper than 98 levels, or holds itself",
    ),
    "itself": ("x = []\nx.append(x)\nreturn x", "ValueError", "the result is nested deeper than 98 levels, or holds itself"),
    "many members": ("return [[]] * 200_000", "ValueError", "the result has more than 199000 members"),
    "a long text": ("return 'x' * 5_000_000", "ValueError", "the result is a text of 5000000 bytes, and 4194304 are the most"),
    "many texts": (
        "return ['x' * 3_000_000] * 3",
        "ValueError",
        "the result takes 9000010 bytes, and 8386608 are the most",
    ),
    "a long integer": ("return 10 ** 1000", "ValueError", "the result is an integer of more than 1000 digits"),
    "a generator": ("return (i for i in [1])", "TypeError", "the result is of type `generator`, which JSON lacks; use list(…)"),
    "an object": ("return object()", "TypeError", "the result is of type `object`, which JSON lacks; use text, numbers, lists and dicts"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "kind", "message"), NO_RESULTS.values(), ids=NO_RESULTS.keys())
def test_a_value_without_a_json_form_is_refused_with_its_place(source, kind, message) -> None:
    """C09, C11, C12, G02, G04: nothing is turned into text silently, and nothing that the host would refuse is sent."""
    failed = play(source).failed
    assert (failed.type, failed.message) == (kind, message)


FAILURES = {
    "an exception": (
        "x = 1\ny = 0\nx / y",
        "ZeroDivisionError",
        "division by zero",
        3,
        'Traceback (most recent call last):\n  File "<snippet>", line 3, in <module>\n    x / y\n    ~~^~~\n'
        "ZeroDivisionError: division by zero\n",
    ),
    "in a function": (
        "def f():\n    raise KeyError('k')\nf()",
        "KeyError",
        "'k'",
        2,
        'Traceback (most recent call last):\n  File "<snippet>", line 3, in <module>\n    f()\n'
        "  File \"<snippet>\", line 2, in f\n    raise KeyError('k')\nKeyError: 'k'\n",
    ),
    "under a loop": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    raise ValueError('no')\nasyncio.run(main())",
        "ValueError",
        "no",
        4,
        'Traceback (most recent call last):\n  File "<snippet>", line 5, in <module>\n    asyncio.run(main())\n'
        "  File \"<snippet>\", line 4, in main\n    raise ValueError('no')\nValueError: no\n",
    ),
    "in the standard library": (
        "import json\njson.loads('{')",
        "JSONDecodeError",
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        2,
        "Traceback (most recent call last):\n  File \"<snippet>\", line 2, in <module>\n    json.loads('{')\n"
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)\n",
    ),
    "with a cause": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('bad') from error",
        "ValueError",
        "bad",
        4,
        'Traceback (most recent call last):\n  File "<snippet>", line 2, in <module>\n    1 / 0\n    ~~^~~\n'
        "ZeroDivisionError: division by zero\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "<snippet>", line 4, in <module>\n'
        "    raise ValueError('bad') from error\nValueError: bad\n",
    ),
    "sys.exit": (
        "import sys\nsys.exit(0)",
        "SystemExit",
        "the snippet ended itself with `SystemExit(0)`; use `return` to end it with a result",
        2,
        'Traceback (most recent call last):\n  File "<snippet>", line 2, in <module>\n    sys.exit(0)\nSystemExit: 0\n',
    ),
    "raise SystemExit under a loop": (
        "import asyncio\nasync def main():\n    raise SystemExit\nasyncio.run(main())",
        "SystemExit",
        "the snippet ended itself with `SystemExit(None)`; use `return` to end it with a result",
        3,
        'Traceback (most recent call last):\n  File "<snippet>", line 4, in <module>\n    asyncio.run(main())\n'
        '  File "<snippet>", line 3, in main\n    raise SystemExit\nSystemExit\n',
    ),
    "KeyboardInterrupt": (
        "raise KeyboardInterrupt",
        "KeyboardInterrupt",
        "KeyboardInterrupt",
        1,
        'Traceback (most recent call last):\n  File "<snippet>", line 1, in <module>\n    raise KeyboardInterrupt\n'
        "KeyboardInterrupt\n",
    ),
    "an exception whose text fails": (
        "class E(Exception):\n    def __str__(self):\n        raise OSError\nraise E",
        "E",
        "<exception str() failed>",
        4,
        'Traceback (most recent call last):\n  File "<snippet>", line 4, in <module>\n    raise E\n'
        "E: <exception str() failed>\n",
    ),
}


def without_marks(trace: str) -> list[str]:
    """The lines that say something: each Python has marks of its own below them."""
    return [line for line in trace.splitlines() if line.strip(" ~^")]


@pytest.mark.parametrize(("source", "kind", "message", "line", "trace"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_shown_in_the_snippets_own_lines(source, kind, message, line, trace) -> None:
    """No line of the harness stands in a traceback, whatever the exception went through."""
    failed = play(source).failed
    assert without_marks(failed.traceback) == without_marks(trace)
    assert (failed.type, failed.message, failed.line) == (kind, message, line)


def test_an_exception_group_shows_the_lines_of_its_members() -> None:
    """What a task group raises is as readable as the rest."""
    failed = play(
        "import asyncio\nasync def f():\n    raise ValueError('no')\nasync def main():\n"
        "    async with asyncio.TaskGroup() as group:\n        group.create_task(f())\nawait main()"
    ).failed
    assert (failed.type, failed.message) == ("ExceptionGroup", "unhandled errors in a TaskGroup (1 sub-exception)")
    assert 'File "<snippet>", line 3, in f' in failed.traceback
    assert "asyncio/" not in failed.traceback


def test_a_long_message_and_a_deep_traceback_are_cut_in_the_middle() -> None:
    """What an agent sees of a runaway recursion is both of its ends."""
    failed = play("def f(n):\n    return f(n + 1)\nf(0)").failed
    assert failed.type == "RecursionError"
    assert len(failed.traceback) < 17_000
    failed = play("raise ValueError('a' * 100_000)").failed
    assert (len(failed.message) < 4_100, failed.message[2000:2038]) == (
        True,
        "\n[… 96000 characters cut …]\n" + "a" * 10,
    )


def test_printed_text_comes_before_the_failure() -> None:
    """Print, then traceback: nothing that was printed is lost."""
    ended = play("import sys\nprint('one')\nprint('two', file=sys.stderr)\n1/0")
    assert (ended.out, ended.err, ended.failed.type) == ("one\n", "two\n", "ZeroDivisionError")


PRINTED = {
    "lines": ("for i in range(3):\n    print(i)", "0\n1\n2\n"),
    "end and sep": ("print('a', 'b', sep='-', end='!')", "a-b!"),
    "write": ("import sys\nsys.stdout.write('x')\nsys.stdout.flush()", "x"),
    "bytes": ("import sys\nsys.stdout.buffer.write('é'.encode() + b'\\xff')", "é\ufffd"),
    "a lone surrogate": ("print('a\\ud83d')", "a\\ud83d\n"),
    "nothing": ("print('', end='')", ""),
    "redirected": ("import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    print('in')\nprint(len(out.getvalue()))", "3\n"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "out"), PRINTED.values(), ids=PRINTED.keys())
def test_what_is_printed_is_heard(source, out) -> None:
    """An observation for the agent, never the result."""
    ended = play(source + "\nreturn None")
    assert (ended.out, ended.none, ended.lost) == (out, True, None)


def test_small_prints_travel_together_and_large_ones_in_pieces() -> None:
    """A thousand lines are a handful of frames; a million characters are 63 frames of 16,000, and the line end."""
    many = play("for i in range(1000):\n    print('x' * 9)")
    assert (len(many.out), many.prints < 10) == (10_000, True)
    large = play("print('x' * 1_000_000)")
    assert (len(large.out), large.prints) == (1_000_001, 64)


def test_a_result_on_a_descriptor_is_no_result() -> None:
    """G01: bytes on 1 and 2 lead nowhere."""
    ended = play("import os\nos.write(1, b'{\"answer\": 1}')\nos.write(2, b'x')\nx = 1")
    assert (ended.none, ended.out, ended.err) == (True, "", "")


def test_input_finds_nothing() -> None:
    """There is nobody to type."""
    assert play("input()").failed.type == "EOFError"


def test_a_snippet_finds_inputs_previous_results_and_the_budget() -> None:
    """The run's inputs, the results of earlier iterations, what is left."""
    ended = play(
        "return [inputs['x'], previous, budget['calls'], json_of(inputs)]\n"
        "def json_of(x):\n    import json\n    return json.dumps(x)\n".replace(
            "return [", "def json_of(x):\n    import json\n    return json.dumps(x)\nreturn [", 1
        ),
        inputs={"x": [1, {"y": 2}]},
        previous=[None, {"a": 1}],
        budget={"calls": 5},
    )
    assert ended.result == [[1, {"y": 2}], [None, {"a": 1}], 5, '{"x": [1, {"y": 2}]}']


READ_ONLY = {
    "a key": "inputs['x'] = 1",
    "a key below": "inputs['x'][1]['y'] = 1",
    "append": "inputs['x'].append(1)",
    "update": "inputs.update(a=1)",
    "pop": "inputs.pop('x')",
    "del": "del inputs['x']",
    "sort": "inputs['x'].sort()",
    "in place": "inputs['x'] += [1]",
    "or in place": "inputs |= {}",
}


@pytest.mark.parametrize("line", READ_ONLY.values(), ids=READ_ONLY.keys())
def test_inputs_are_read_only(line) -> None:
    """A snippet that changes its inputs would reason about values that nobody gave it."""
    failed = play(f"def f(inputs):\n    {line}\nf(inputs)", inputs={"x": [1, {"y": 2}]}).failed
    assert failed.message == "`inputs` is read-only: change a copy of it, `copy.deepcopy(inputs)`"


def test_a_copy_of_the_inputs_may_be_changed() -> None:
    """A deep copy is made of ordinary dicts and lists."""
    source = "import copy\nx = copy.deepcopy(inputs)\nx['x'][1]['y'] = 3\nx['x'].append(4)\nreturn [x, type(x).__name__, inputs]"
    given = {"x": [1, {"y": 2}]}
    assert play(source, inputs=given).result == [{"x": [1, {"y": 3}, 4]}, "dict", given]


def test_threads_that_a_snippet_left_running_are_waited_for() -> None:
    """As Python waits for them at its end; what they did counts."""
    source = (
        "import threading, time\nfrom tools import slow\n"
        "def work():\n    print(slow('done'))\nthreading.Thread(target=work).start()\nreturn 1"
    )
    ended = play(source)
    assert (ended.result, ended.out) == (1, "done\n")


def test_a_daemon_thread_does_not_hold_the_end() -> None:
    """It is cut off, and what it would still call is never sent."""
    source = (
        "import threading\nfrom tools import never\n"
        "threading.Thread(target=never, args=('x',), daemon=True).start()\nreturn 1"
    )
    assert play(source).result == 1


def test_finalisers_do_not_run_after_the_result() -> None:
    """A01: `__del__` of an object that outlives the snippet calls nothing."""
    source = "from tools import echo\nclass T:\n    def __del__(self):\n        echo('late')\nkeep = [T()]\nreturn 1"
    ended = play(source)
    assert (ended.result, ended.calls) == (1, [])


def test_a_process_that_exits_by_itself_has_no_result() -> None:
    """The host sees a closed channel, and nothing else."""
    ended = play("import os\nprint('x')\nos._exit(0)")
    assert (ended.result, ended.failed, ended.closed, ended.status) == (None, None, True, 0)


def test_closing_every_descriptor_is_no_result() -> None:
    """The channel is one of them."""
    ended = play("import os\nos.closerange(0, 1000)\nprint('x' * 100_000)\nreturn 1")
    assert (ended.none, ended.failed, ended.closed) == (None, None, True)


def test_a_snippet_that_raises_inside_its_last_coroutine_has_failed() -> None:
    """Awaiting the last value is part of the snippet."""
    failed = play("async def main():\n    raise ValueError('x')\nmain()").failed
    assert (failed.type, failed.line) == ("ValueError", 2)


FORKS = {
    "a child that calls": (
        "pid = os.fork()\nif pid == 0:\n    try:\n        echo('child')\n    except RuntimeError:\n        os._exit(5)\n"
        "_, status = os.waitpid(pid, 0)\nreturn [os.waitstatus_to_exitcode(status), echo('parent')]",
        [5, "parent"],
    ),
    "a child that returns": ("if os.fork() == 0:\n    return 'child'\nos.wait()\nreturn echo('parent')", "parent"),
    "a child that prints": ("if os.fork() == 0:\n    print('child')\n    return\nos.wait()\nreturn echo('parent')", "parent"),
    "a child of a thread": (
        "import threading\ndef f():\n    if os.fork() == 0:\n        echo('child')\nt = threading.Thread(target=f)\nt.start()\n"
        "t.join()\nos.wait()\nreturn echo('parent')",
        "parent",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "result"), FORKS.values(), ids=FORKS.keys())
def test_a_fork_has_no_part_in_the_conversation(source, result) -> None:
    """B03: a child process may compute; a second result, or an id that comes twice, cannot happen by accident."""
    ended = play(f"import os\nfrom tools import echo\n{source}")
    assert (ended.failed, ended.lost, ended.result, ended.out) == (None, None, result, "")
    assert [args["text"] for _, _, args in ended.calls] == ["parent"]
