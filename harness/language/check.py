"""Checks a snippet before anything starts: the language's rules on every node, then the code that a box will run.

It reads text and compiles it; nothing of the snippet is executed or imported, whatever it says (A12).
"""

import ast
import hashlib
import marshal
import types
import warnings
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.contract.words import Language
from harness.core.errors import Fault, Place, SnippetRefused
from harness.language.depth import MAX_BLOCKS, too_deep
from harness.language.faults import Faults
from harness.language.restrict import Restricted
from harness.language.shape import ENTRY, FILE, shape
from harness.language.source import EMPTY, normalise
from harness.language.survey import survey
from sandbox_image.language.modules import STANDARD

__all__ = ["CACHED", "Checked", "Language", "check"]

CACHED = 256
"""Checked snippets that are kept: one of 4 KB keeps 30 KB, so 8 MB at most in ordinary use."""

_Key = tuple[bytes, Language, tuple[str, ...], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A snippet that may run."""

    code: bytes
    """Marshalled code of a module that defines `__snippet__`; for this Python's minor version alone."""
    source: str
    """The text that was compiled: normalised, with the line numbers of what was given."""
    digest: str
    """SHA-256 of that text, in hex."""
    language: Language
    uses_await: bool
    """Whether `__snippet__` is a coroutine function."""


_cache: "OrderedDict[_Key, Checked]" = OrderedDict()


def check(
    source: str,
    *,
    language: Language,
    imports: Sequence[str] | None = None,
    tools: Collection[str] = (),
) -> Checked:
    """Check and compile a snippet. `imports` are the modules that it may import; None stands for the standard list.

    Raises SnippetRefused with every fault that was found, each with its line, its column and a way out.
    """
    raw = hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
    allowed = STANDARD if imports is None else tuple(imports)
    key: _Key = raw, language, allowed, frozenset(tools)
    known = _cache.get(key)
    if known is None:
        known = _checked(source, language, allowed, key[3])
        _cache[key] = known
        if len(_cache) > CACHED:
            _cache.popitem(last=False)
    else:
        _cache.move_to_end(key)
    return known


def _checked(source: str, language: Language, imports: Sequence[str], tools: frozenset[str]) -> Checked:
    text, wrong = normalise(source)
    if wrong:
        raise SnippetRefused(wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            code, uses_await = _compiled(text, language, imports, tools)
        except SyntaxError as error:
            raise SnippetRefused([_syntax_fault(error, text)]) from None
        except (RecursionError, MemoryError):
            hint = "split long expressions and deep blocks into parts"
            raise SnippetRefused([Fault("too_deep", "the snippet is nested too deeply", hint, Place(line=1))]) from None
        except (ValueError, OverflowError) as error:
            message = f"the snippet cannot be compiled: {_lowered(str(error))}"
            raise SnippetRefused([Fault("syntax", message, "write it in other words", Place(line=1))]) from None
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return Checked(code, text, digest, language, uses_await)


def _compiled(text: str, language: Language, imports: Sequence[str], tools: frozenset[str]) -> tuple[bytes, bool]:
    tree = ast.parse(text, FILE)
    if not tree.body:
        raise SnippetRefused([EMPTY])
    found = survey(tree)
    faults = Faults(text)
    deep = too_deep(tree) if found.blocks > MAX_BLOCKS else None
    if deep is not None:
        faults.add(
            deep, "too_deep", f"blocks are nested deeper than {MAX_BLOCKS} levels", "put the inner ones into a function"
        )
    for node, message in found.misplaced:
        faults.add(node, "syntax", message, "put it into a function")
    wrong = faults.listed()
    if language is Language.RESTRICTED:
        wrong += Restricted(text, found, imports, tools).check(tree)
    if wrong:
        raise SnippetRefused(wrong)
    module, uses_await, flags = shape(tree, found)
    code = compile(module, FILE, "exec", flags=flags, dont_inherit=True, optimize=0)
    return marshal.dumps(_named(code)), uses_await


def _named(code: types.CodeType) -> types.CodeType:
    """The same code, as tracebacks and `__qualname__` show it: its one function is the module that it stands for."""
    constants = tuple(_named(each) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    if code.co_name == ENTRY:
        return code.replace(co_name="<module>", co_qualname="<module>", co_consts=constants)
    return code.replace(co_qualname=code.co_qualname.removeprefix(f"{ENTRY}.<locals>."), co_consts=constants)


def _syntax_fault(error: SyntaxError, text: str) -> Fault:
    line = max(1, min(error.lineno or 1, text.count("\n") + 1))
    message = _lowered(error.msg or "invalid syntax")
    shown = text.split("\n")[line - 1].strip()
    if shown.startswith(("```", "~~~")):
        return Fault("fenced", "a Markdown fence is no Python", "send the code alone", Place(line=line, column=1))
    hint = f"look at `{shown[:80]}`" if shown else "look at the lines before it"
    return Fault("syntax", message, hint, Place(line=line, column=max(1, error.offset or 1)))


def _lowered(message: str) -> str:
    """A message of Python's in our form: one line, lower case at its start."""
    message = " ".join(message.split())
    return message[:1].lower() + message[1:] if message[1:2].islower() or message[1:2] == " " else message
