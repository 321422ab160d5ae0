"""Calls of a snippet, in every way in which Python can make them: in order, side by side, awaited or not."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.gateway.rig import ROWS, TOOLS, Later, Refuse, play, row

VALUES = {
    "positional": ("return echo('a')", "a"),
    "keyword": ("return echo(text='a')", "a"),
    "await": ("return await echo('a')", "a"),
    "await inside a function": ("import asyncio\nasync def main():\n    return await echo('a')\nreturn asyncio.run(main())", "a"),
    "gather": ("import asyncio\nreturn await asyncio.gather(slow('a'), echo('b'), slow('c'))", ["a", "b", "c"]),
    "gather of coroutines": (
        "import asyncio\nasync def f(x):\n    return await slow(x)\nreturn await asyncio.gather(*map(f, 'abc'))",
        ["a", "b", "c"],
    ),
    "gather with exceptions": (
        "import asyncio\nr = await asyncio.gather(echo('a'), refuse('b'), return_exceptions=True)\n"
        "return [r[0], type(r[1]).__name__, str(r[1])]",
        ["a", "ToolDenied", "`b` is out of scope (ask for another)"],
    ),
    "create_task": ("import asyncio\nt = asyncio.create_task(slow('a'))\nreturn [echo('b'), await t]", ["b", "a"]),
    "ensure_future": ("import asyncio\nreturn await asyncio.ensure_future(slow('a'))", "a"),
    "task group": (
        "import asyncio\nasync with asyncio.TaskGroup() as g:\n    ts = [g.create_task(slow(x)) for x in 'abc']\n"
        "return [t.result() for t in ts]",
        ["a", "b", "c"],
    ),
    "as_completed": (
        "import asyncio\nreturn [await c for c in asyncio.as_completed([slow('s'), echo('e')])]",
        ["e", "s"],
    ),
    "wait": (
        "import asyncio\nts = [asyncio.create_task(slow(x)) for x in 'ab']\ndone, rest = await asyncio.wait(ts)\n"
        "return [sorted(t.result() for t in done), len(rest)]",
        [["a", "b"], 0],
    ),
    "wait for the first": (
        "import asyncio\nts = [asyncio.create_task(f('x')) for f in (slow, echo)]\n"
        "done, rest = await asyncio.wait(ts, return_when=asyncio.FIRST_COMPLETED)\nreturn [len(done), len(rest)]",
        [1, 1],
    ),
    "wait_for in time": ("import asyncio\nreturn await asyncio.wait_for(echo('a'), 5)", "a"),
    "wait_for too late": (
        "import asyncio\ntry:\n    await asyncio.wait_for(never('a'), 0.05)\nexcept TimeoutError:\n    return 'late'",
        "late",
    ),
    "timeout": (
        "import asyncio\ntry:\n    async with asyncio.timeout(0.05):\n        await never('a')\nexcept TimeoutError:\n"
        "    return await echo('b')",
        "b",
    ),
    "shield": ("import asyncio\nreturn await asyncio.shield(echo('a'))", "a"),
    "a semaphore": (
        "import asyncio\ns = asyncio.Semaphore(2)\nasync def f(x):\n    async with s:\n        return await echo(x)\n"
        "return await asyncio.gather(*map(f, 'abcd'))",
        ["a", "b", "c", "d"],
    ),
    "a queue": (
        "import asyncio\nq = asyncio.Queue()\nout = []\nasync def work():\n    while (x := await q.get()) is not None:\n"
        "        out.append(await echo(x))\nasync with asyncio.TaskGroup() as g:\n    g.create_task(work())\n"
        "    for x in ['a', 'b', None]:\n        await q.put(x)\nreturn out",
        ["a", "b"],
    ),
    "to_thread": ("import asyncio\nreturn await asyncio.gather(*[asyncio.to_thread(slow, x) for x in 'ab'])", ["a", "b"]),
    "spinning while a task waits": (
        "import asyncio\nt = asyncio.create_task(slow('a'))\nwhile not t.done():\n    await asyncio.sleep(0)\nreturn t.result()",
        "a",
    ),
    "sleep": ("import asyncio\nawait asyncio.sleep(0.01)\nreturn echo('a').upper()", "A"),
    "sleep that blocks": ("import time\ntime.sleep(0.01)\nreturn echo('a')", "a"),
    "call_later": (
        "import asyncio\nf = asyncio.get_running_loop().create_future()\n"
        "asyncio.get_running_loop().call_later(0.01, f.set_result, 3)\nreturn await f",
        3,
    ),
    "map": ("return echo.map(['a', 'b'])", ["a", "b"]),
    "map of rows": ("return add.map([{'a': 1, 'b': 2}, (3, 4)])", [3, 7]),
    "map awaited": ("return await slow.map(['a', 'b'])", ["a", "b"]),
    "map not awaited": ("x = slow.map(['a', 'b'])\nawait echo('')\nreturn [y + '!' for y in x]", ["a!", "b!"]),
    "map of nothing": ("return echo.map([])", []),
    "a second loop": (
        "import asyncio\nasync def f(x):\n    return await slow(x)\nreturn [asyncio.run(f(x)) for x in 'ab']",
        ["a", "b"],
    ),
    "a promise that outlives its loop": (
        "import asyncio\nasync def f():\n    return {'p': slow('a')}\nreturn asyncio.run(f())['p'] + '!'",
        "a!",
    ),
    "a promise as an argument": ("x = slow('a')\nreturn await echo(x)", "a"),
    "a promise inside an argument": ("x = slow('a')\nreturn await echo({'k': [x]})", {"k": ["a"]}),
    "a promise in the result": ("await echo('')\nreturn {'k': slow('a')}", {"k": "a"}),
    "a promise as the last value": ("await echo('')\nslow('a')", "a"),
    "a promise awaited twice": ("x = slow('a')\nreturn [await x, await x]", ["a", "a"]),
    "awaited and used": ("x = slow(['a'])\nx.append('b')\nreturn await x", ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "value"), VALUES.values(), ids=VALUES.keys())
def test_a_stub_gives_its_value(source, value) -> None:
    """C03: with `await` and without, in every construct that takes a coroutine, and in none."""
    ended = play(f"from tools import *\n{source}")
    assert (ended.failed, ended.result) == (None, value)


RECORD = {"n": 3, "name": "ab", "list": [3, 1, 2], "none": None, "f": 1.5, "close": 9, "value": 8}
USES = {
    "item": ("x['n']", 3),
    "method": ("sorted(x.keys())[0]", "close"),
    "iteration": ("sorted(x)[0]", "close"),
    "unpacking": ("{**x}['n']", 3),
    "length": ("len(x)", 7),
    "membership": ("['n' in x, 'm' in x]", [True, False]),
    "equality": ("[x == x.copy(), x != {}, x == 1]", [True, True, False]),
    "truth": ("bool(x) and not (not x)", True),
    "isinstance": ("[isinstance(x, dict), isinstance(x, list), isinstance(x, (str, dict))]", [True, False, True]),
    "an abstract class": (
        "(lambda m: [isinstance(x, m.Mapping), isinstance(x, m.Sequence)])(__import__('collections.abc').abc)",
        [True, False],
    ),
    "text": ("str(x) == repr(x) == str(dict(x))", True),
    "format": ("f'{x[\"f\"]:.2f} {x!r:.3}'", "1.50 {'n"),
    "percent": ("'%(n)d %(name)s' % x", "3 ab"),
    "json": ("__import__('json').loads(__import__('json').dumps(x))['n']", 3),
    "json inside": ("__import__('json').dumps({'x': x, 'y': [x]}, default=str).count('close')", 2),
    "copy": ("__import__('copy').deepcopy(x)['n']", 3),
    "set item": ("[x.__setitem__('n', 4), x['n']][1]", 4),
    "or": ("(x | {'n': 5})['n']", 5),
}


@pytest.mark.parametrize(("expression", "value"), USES.values(), ids=USES.keys())
def test_a_call_without_await_is_its_value(expression, value) -> None:
    """C03: in async code a forgotten `await` never gives a coroutine object as the answer."""
    source = f"from tools import *\nx = slow({RECORD!r})\nawait echo('y')\nreturn {expression}"
    ended = play(source)
    assert (ended.failed, ended.result) == (None, value)


NUMBERS = {
    "add": ("x + 1", 7),
    "radd": ("1 + x", 7),
    "sub": ("10 - x", 4),
    "mul": ("[0] * x", [0] * 6),
    "div": ("[x / 4, x // 4, x % 4, divmod(x, 4)]", [1.5, 1, 2, [1, 2]]),
    "pow": ("[x ** 2, 2 ** x, pow(x, 2, 5)]", [36, 64, 1]),
    "neg": ("[-x, +x, ~x, abs(x)]", [-6, 6, -7, 6]),
    "order": ("[x < 7, x >= 6, 5 > x, sorted([x, 2, 9])]", [True, True, False, [2, 6, 9]]),
    "range": ("list(range(x))[-1]", 5),
    "index": ("'abcdefgh'[x]", "g"),
    "convert": ("[int(x), float(x), round(x), str(x)]", [6, 6.0, 6, "6"]),
    "bits": ("[x & 2, x | 1, x ^ 3, x << 1, x >> 1]", [2, 7, 5, 12, 3]),
    "as a key": ("{6: 'a'}[x] + {x: 'b'}[6]", "ab"),
    "sum and max": ("[sum([x, x]), max(x, 3), min(x, 3)]", [12, 6, 3]),
    "in a list": ("[x in [1, 6], [1, 6].index(x)]", [True, 1]),
    "two promises": ("x + slow(4)", 10),
    "math": ("__import__('math').sqrt(x + 3)", 3.0),
}


@pytest.mark.parametrize(("expression", "value"), NUMBERS.values(), ids=NUMBERS.keys())
def test_arithmetic_on_a_call_without_await(expression, value) -> None:
    """C03: every operator, on either side."""
    ended = play(f"from tools import *\nx = slow(6)\nawait echo('y')\nreturn {expression}")
    assert (ended.failed, ended.result) == (None, value)


def test_what_a_promise_cannot_be_is_said_by_its_name() -> None:
    """C03: where C code insists on its own type, the error names the right form."""
    failed = play("from tools import *\nx = echo('a')\nawait echo('b')\nreturn ''.join([x])").failed
    assert (failed.type, failed.message) == (
        "TypeError",
        "sequence item 0: expected str instance, un-awaited tool call found",
    )


def test_calls_are_sent_when_they_are_made_and_run_side_by_side() -> None:
    """Three calls of 50 ms take 50 ms; nothing waits for an await."""
    source = (
        "from tools import *\nimport time\nawait echo('')\nbefore = time.monotonic()\nps = [slow(x) for x in 'abc']\n"
        "out = [await p for p in ps]\nreturn [out, time.monotonic() - before < 0.12]"
    )
    assert play(source).result == [["a", "b", "c"], True]


def test_ten_threads_each_get_their_own_answer() -> None:
    """C01: one socket, ids on every call."""
    source = (
        "import threading\nfrom tools import echo, slow\nout = {}\n"
        "def work(i):\n    for n in range(20):\n        f = slow if n == i else echo\n"
        "        out[i, n] = f(f'T{i}.{n}')\n"
        "threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\n"
        "return [len(out), [k for k, v in out.items() if v != f'T{k[0]}.{k[1]}']]"
    )
    ended = play(source)
    assert (ended.failed, ended.result) == (None, [200, []])
    assert {task for task, _, _ in ended.calls} == {f"0.{n}" for n in range(1, 11)}


def test_a_thread_pool_keeps_the_order_of_its_rows() -> None:
    """`executor.map` over a stub; each piece of work has a path of its own, whichever worker takes it."""
    source = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom tools import slow\n"
        "with ThreadPoolExecutor(4) as pool:\n    return list(pool.map(slow, 'abcdefgh'))"
    )
    ended = play(source)
    assert ended.result == list("abcdefgh")
    assert sorted((args["text"], task) for task, _, args in ended.calls) == [
        (text, f"0.{number}") for number, text in enumerate("abcdefgh", 1)
    ]


def test_threads_and_a_loop_share_the_channel() -> None:
    """Whoever waits reads for the others; nobody is left behind when it stops."""
    source = (
        "import asyncio, threading\nfrom tools import echo, slow\n"
        "def work(i):\n    return [slow(f'{i}.{n}') if n % 3 == 0 else echo(f'{i}.{n}') for n in range(10)]\n"
        "async def side(i):\n    return [await (slow if n % 3 == 0 else echo)(f'{i}.{n}') for n in range(10)]\n"
        "got = await asyncio.gather(*[asyncio.to_thread(work, i) for i in range(4)], *[side(i) for i in range(4, 8)])\n"
        "return [x == [f'{i}.{n}' for n in range(10)] for i, x in enumerate(got)]"
    )
    ended = play(source)
    assert (ended.failed, ended.result) == (None, [True] * 8)


def test_loops_in_threads_each_get_their_own_answers() -> None:
    """`asyncio.run` in three threads at once."""
    source = (
        "import asyncio, threading\nfrom tools import echo, slow\nout = {}\n"
        "async def main(i):\n    return await asyncio.gather(*[(slow if n == i else echo)(f'{i}.{n}') for n in range(5)])\n"
        "def work(i):\n    out[i] = asyncio.run(main(i))\n"
        "threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\n"
        "return [out[i] == [f'{i}.{n}' for n in range(5)] for i in range(3)]"
    )
    ended = play(source)
    assert (ended.failed, ended.result) == (None, [True] * 3)


KINDS = ["ToolDenied", "ToolFailed", "OutcomeUnknown", "ApprovalRejected", "PartialResult"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["refuse('x')", "await refuse('x')", "refuse.map(['x'])", "await refuse.map(['x'])"])
def test_a_failed_call_raises_what_the_answer_says(kind, form) -> None:
    """C05: always an exception, never a value; with code, tool, sentence and hint."""
    tools = {**TOOLS, "refuse": lambda args: Refuse(kind, "some_code", "it failed", "try again", {"n": 1})}
    source = (
        "import tools\nfrom tools import *\ntry:\n    x = " + form + "\nexcept ToolError as e:\n"
        "    return [type(e).__name__, isinstance(e, getattr(tools, '"
        + kind
        + "')), e.code, e.tool, e.message, e.hint, e.data]"
    )
    ended = play(source, tools)
    assert (ended.failed, ended.result) == (
        None,
        [kind, True, "some_code", "refuse", "it failed", "try again", {"n": 1}],
    )


@pytest.mark.parametrize("form", ["refuse('x')", "await refuse('x')"])
def test_an_exhausted_budget_passes_every_handler(form) -> None:
    """A loop that swallows every Exception cannot swallow the end of the run."""
    tools = {**TOOLS, "refuse": lambda args: Refuse("BudgetExhausted", "budget_exhausted", "calls: limit 1, reached 2")}
    ended = play(
        f"from tools import *\nwhile True:\n    try:\n        {form}\n    except Exception:\n        pass", tools
    )
    assert (ended.failed.type, ended.failed.message) == ("BudgetExhausted", "calls: limit 1, reached 2")


def test_a_swallowed_denial_is_ordinary_code() -> None:
    """The snippet goes on."""
    source = (
        "from tools import *\ntry:\n    refuse('x')\nexcept ToolDenied as e:\n    y = str(e)\nreturn [y, echo('z')]"
    )
    assert play(source).result == ["`x` is out of scope (ask for another)", "z"]


def test_an_uncaught_denial_is_a_failure_with_its_line() -> None:
    """C05: sentence and hint stand in the traceback."""
    failed = play("from tools import *\n\nrefuse('x')").failed
    assert (failed.type, failed.message, failed.line) == ("ToolDenied", "`x` is out of scope (ask for another)", 3)
    assert failed.traceback.endswith("tools.ToolDenied: `x` is out of scope (ask for another)\n")


def test_a_call_that_nobody_awaited_fails_the_snippet_all_the_same() -> None:
    """C05: a forgotten `await` does not hide a refusal; the line of the call is named."""
    failed = play("from tools import *\nawait echo('a')\nrefuse('x')\nreturn 1").failed
    assert (failed.type, failed.message) == ("ToolDenied", "`x` is out of scope (ask for another)")
    assert "it is the error of the call in line 3, whose value nothing used" in failed.traceback


def test_a_call_that_nobody_awaited_is_waited_for() -> None:
    """The result comes after every answer."""
    tools = {**TOOLS, "slow": lambda args: Later(0.1, 1)}
    ended = play("from tools import *\nawait echo('a')\nslow('x')\nreturn 1", tools)
    assert (ended.result, [tool for _, tool, _ in ended.calls]) == (1, ["echo", "slow"])


def test_a_call_that_was_given_up_is_not_waited_for() -> None:
    """A timeout that fired is the snippet's decision."""
    source = "import asyncio\nfrom tools import *\ntry:\n    await asyncio.wait_for(never('x'), 0.02)\nexcept TimeoutError:\n    pass\nreturn 2"
    assert play(source).result == 2


def test_a_failing_row_of_map_is_raised_after_all_have_come() -> None:
    """The first failure in the order of the rows."""
    tools = {**TOOLS, "slow": lambda args: Refuse(message=args["text"]) if args["text"] in "bc" else args["text"]}
    for form in ("slow.map('abcd')", "await slow.map('abcd')"):
        ended = play(f"from tools import *\nreturn {form}", tools)
        assert (ended.failed.message, len(ended.calls)) == ("b", 4)


BAD_ARGUMENTS = {
    "NaN": ("float('nan')", "is `nan`, which JSON lacks"),
    "infinity": ("float('-inf')", "is `-inf`, which JSON lacks"),
    "surrogate": ("'a\\ud83d'", "holds a lone surrogate at character 1, which is no character"),
    "a long integer": ("10 ** 1000", "is an integer of more than 1000 digits"),
    "an object": ("object()", "is of type `object`, which JSON lacks; use text, numbers, lists and dicts"),
}


@pytest.mark.parametrize(("value", "why"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
@pytest.mark.parametrize(("wrap", "path"), [("{}", ""), ("[1, {{'k': {}}}]", "[1].k")])
@pytest.mark.parametrize("form", ["", "await "])
def test_an_argument_without_a_json_form_never_leaves_the_box(value, why, wrap, path, form) -> None:
    """C09, C11, C12: refused at the stub, with the place, as an error of the call."""
    ended = play(f"from tools import *\n{form}echo({wrap.format(value)})\n")
    assert (ended.failed.type, ended.failed.message, ended.calls) == (
        "ArgumentsRefused",
        f"an argument of `echo` at `$.text{path}` {why}",
        [],
    )


def test_ten_thousand_calls_at_once_and_more_pass() -> None:
    """Above the host's limit of calls in flight the box holds back by itself."""
    source = "from tools import *\nx = await add.map([(i, 1) for i in range(25_000)])\nreturn [len(x), sum(x)]"
    assert play(source).result == [25_000, sum(range(1, 25_001))]


def test_a_large_answer_and_a_large_argument_pass() -> None:
    """Three megabytes each way, in pieces."""
    source = "from tools import *\nx = echo('é' * 1_500_000)\nreturn [len(x), x[-1]]"
    assert play(source).result == [1_500_000, "é"]


def test_answers_that_the_box_does_not_read_hold_up_nobody() -> None:
    """While the box sends, it reads: large arguments against large answers do not lock each other out."""
    source = "from tools import *\nps = [echo('x' * 300_000) for _ in range(60)]\nawait echo('')\nreturn sum(len(p) for p in ps)"
    assert play(source).result == 18_000_000


PATHS = {
    "the snippet": ("echo('a')", ["0"]),
    "tasks in order of creation": (
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    await echo(x)\nawait asyncio.gather(f('a'), f('b'))",
        ["0.1", "0.2"],
    ),
    "a task of a task": (
        "import asyncio\nasync def g():\n    await echo('g')\nasync def f():\n    await asyncio.create_task(g())\n    await echo('f')\n"
        "await asyncio.create_task(f())",
        ["0.1.1", "0.1"],
    ),
    "asyncio.run": ("import asyncio\nasync def f():\n    await echo('a')\nasyncio.run(f())\nasyncio.run(f())\necho('')", ["0.1", "0.2", "0"]),
    "a coroutine as last value": ("async def f():\n    await echo('a')\nf()", ["0"]),
    "threads": (
        "import threading\nts = [threading.Thread(target=echo, args=(x,)) for x in 'ab']\n"
        "for t in reversed(ts):\n    t.start()\n    t.join()",
        ["0.1", "0.2"],
    ),
    "to_thread": ("import asyncio\nawait asyncio.to_thread(echo, 'a')\nawait asyncio.to_thread(echo, 'b')", ["0.1", "0.2"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "paths"), PATHS.values(), ids=PATHS.keys())
def test_every_task_and_thread_has_a_path_by_order_of_creation(source, paths) -> None:
    """A replay finds a call by it, so it is the same each time."""
    ended = play(f"from tools import *\n{source}")
    assert (ended.failed, [task for task, _, _ in ended.calls]) == (None, paths)


def test_waiting_for_threads_at_the_end_of_a_loop_asks_for_no_time() -> None:
    """Python from 3.12 on gives a bound of its own: how long a thread takes must not show in the journal."""
    source = (
        "import asyncio\nfrom tools import *\nawait asyncio.to_thread(echo, 'a')\n"
        "await asyncio.get_running_loop().shutdown_default_executor(300)"
    )
    ended = play(source)
    assert (ended.failed, [tool for _, tool, _ in ended.calls]) == (None, ["echo"])


def test_a_long_chain_of_tasks_keeps_paths_short() -> None:
    """A path beyond 200 characters begins with a digest of itself, the same each time."""
    source = (
        "import asyncio\nfrom tools import *\nasync def f(n):\n    await echo(n)\n"
        "    if n < 150:\n        await asyncio.create_task(f(n + 1))\nawait f(0)"
    )
    first, second = play(source).calls, play(source).calls
    assert first == second
    assert len({task for task, _, _ in first}) == 151
    assert max(len(task) for task, _, _ in first) <= 256


def test_idle_is_told_once_the_box_can_only_wait() -> None:
    """A hint for the host, after a moment, with the calls that are waited for."""
    ended = play("from tools import *\nimport asyncio\nreturn await asyncio.gather(slow('a'), slow('b'))")
    assert ended.idle == [[1, 2]]


def test_names_that_are_no_identifiers_travel_as_they_are() -> None:
    """C16: the wire name is the tool's own."""
    rows = [*ROWS, {**row("get-user.x/y", "text"), "py": "get_user_x_y"}]
    tools = {**TOOLS, "get-user.x/y": lambda args: args["text"]}
    source = "from tools import get_user_x_y\nreturn get_user_x_y('a')"
    table = {"source": "", "table": {"tools": rows, "types": {}, "errors": []}}
    assert play(source, tools, tools=table).result == "a"


def test_an_escalation_is_a_call_that_the_host_serves() -> None:
    """The question, the options and the proposal travel; the answer is the owner's."""
    tools = {**TOOLS, "harness.escalate": lambda args: args["options"][1]}
    ended = play("return escalate('which?', ['a', 'b'], proposed='a')", tools)
    assert (ended.result, ended.calls) == (
        "b",
        [("0", "harness.escalate", {"question": "which?", "options": ["a", "b"], "proposed": "a"})],
    )
