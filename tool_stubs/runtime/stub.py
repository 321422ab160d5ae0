"""The tools module of the box: one stub for each granted tool, made from the table that the host sends.

Stubs bind and convert; sending, waiting and promises are the channel's, which is handed in as `call`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tool_stubs.runtime import errors
from tool_stubs.runtime.binding import Binding
from tool_stubs.runtime.codec import Codec
from tool_stubs.runtime.decoding import Decode
from tool_stubs.runtime.finding import Finder
from tool_stubs.runtime.nearest import nearest

__all__ = ["Call", "CallMany", "Results", "Stub", "build"]

Call = Callable[[str, dict[str, Any], Decode], Any]
"""(wire name, arguments, decode) → the value, or a promise of it."""
CallMany = Callable[[str, Sequence[dict[str, Any]], Decode], Any]
"""The same for many argument sets of one tool: the list of values in order, or a promise of it."""


class Results(list[Any]):
    """Results of `map` where the channel has no way of its own to send many; awaiting it awaits each."""

    def __await__(self) -> Any:
        for at, each in enumerate(self):
            if hasattr(each, "__await__"):
                self[at] = yield from each.__await__()
        return list(self)


class Stub:
    """A tool as the snippet sees it: called like a function."""

    __slots__ = (
        "__name__",
        "__qualname__",
        "_bind",
        "_call",
        "_call_many",
        "_codec",
        "_decode",
        "_doc",
        "_row",
        "_wire",
    )

    def __init__(
        self, row: Mapping[str, Any], codec: Codec, call: Call, call_many: CallMany | None, doc: Callable[[], str]
    ) -> None:
        self.__name__ = self.__qualname__ = row["py"]
        self._wire: str = row["name"]
        self._row = row
        self._codec = codec
        self._call = call
        self._call_many = call_many
        self._doc = doc
        self._bind: Binding | None = None
        self._decode: Decode | None = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the tool. Raises ToolError, ArgumentsRefused among them, or BudgetExhausted."""
        bind = self._bind or self._ready()
        return self._call(self._wire, bind(args, kwargs), self._decode)  # type: ignore[arg-type]

    def map(self, rows: Iterable[Any], /, **common: Any) -> Any:
        """One call for each row, all sent before the first answer is awaited; the results in the order of the rows.

        A row is a dict of arguments, a tuple of them, or the first argument alone; `common` goes to every call.
        Nothing is sent where one row does not fit.
        """
        bind = self._bind or self._ready()
        every = [bind.row(row, common) for row in rows]
        if self._call_many is not None:
            return self._call_many(self._wire, every, self._decode)  # type: ignore[arg-type]
        return Results(self._call(self._wire, each, self._decode) for each in every)  # type: ignore[arg-type]

    def _ready(self) -> Binding:
        self._decode = self._codec.decoder(self._row.get("result"))
        self._bind = Binding(self._row, self._codec)
        return self._bind

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._doc()

    def __repr__(self) -> str:
        return f"<tool {self.__name__}>" if self.__name__ == self._wire else f"<tool {self.__name__} ({self._wire})>"


def build(table: Mapping[str, Any], call: Call, call_many: CallMany | None = None, source: str = "") -> dict[str, Any]:
    """The names of the module `tools`: stubs, error classes, and (made when first looked up) the surface's types.

    `source` is the text that goes with the table: docstrings are cut out of it. Where `call_many` is not given, a
    method `many` of `call` takes its place, and where there is none `map` makes single calls.
    """
    call_many = call_many or getattr(call, "many", None)
    types: Mapping[str, Mapping[str, Any]] = table.get("types", {})
    codec = Codec(types)
    namespace: dict[str, Any] = {"__name__": "tools", "__doc__": "Tools of this run.", "__source__": source}
    for kind in (*errors.KINDS.values(), errors.ToolError, errors.ArgumentsRefused):
        namespace[kind.__name__] = kind
    declared = errors.declare(table.get("errors", ()))
    namespace.update({name: declared[name] for name in table.get("errors", ()) if name in declared})
    finding: Mapping[str, str] = table.get("finding", {})
    if finding:
        finder = Finder(table["tools"], source)
        namespace[finding["search"]], namespace[finding["describe"]] = finder.search, finder.describe
    shown: list[str] = []
    for row in table["tools"]:
        stub = Stub(row, codec, call, call_many, _Doc(source, row.get("doc")))
        namespace[row["py"]] = stub
        shown.append(row["py"])
        if row["name"].isidentifier():
            namespace.setdefault(row["name"], stub)
    shown += [name for name in namespace if isinstance(namespace[name], type)]
    named = [name for name, entry in types.items() if entry["kind"] != "alias" and name not in namespace]

    def lookup(name: str) -> Any:
        """A type of the surface, made now; for anything else an AttributeError that names the nearest tool."""
        if name in named:
            namespace[name] = codec.class_of(name)
            return namespace[name]
        if name.startswith("__"):
            raise AttributeError(f"module 'tools' has no attribute '{name}'")
        near = nearest(name, [row["py"] for row in table["tools"]] + named)
        hint = f"did you mean '{near}'?" if near else f"it has: {', '.join(row['py'] for row in table['tools'][:20])}"
        raise AttributeError(f"module 'tools' has no tool '{name}' in this run ({hint})")

    namespace["__all__"] = [*shown, *named, *finding.values()]
    namespace["__getattr__"] = lookup
    return namespace


class _Doc:
    """The docstring of one stub, cut out of the source when somebody reads it."""

    __slots__ = ("_lines", "_source")

    def __init__(self, source: str, lines: Sequence[int] | None) -> None:
        self._source = source
        self._lines = lines

    def __call__(self) -> str:
        if not self._source or not self._lines:
            return ""
        first, last = self._lines
        text = [line.removeprefix("    ") for line in self._source.splitlines()[first - 1 : last]]
        return "\n".join(text).strip().removeprefix('"""').removesuffix('"""').rstrip()
