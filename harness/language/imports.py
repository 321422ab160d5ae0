"""Imports of a restricted snippet: modules of the contract's list, and of each the names that its façade has (A11)."""

import __future__

import ast
import difflib
from collections.abc import Collection

from harness.language.faults import Faults
from sandbox_image.language.modules import MODULES, covered, is_known, names_of

__all__ = ["ImportRules"]

_INSTEAD = {
    "os": "there are no files and no processes; time and chance come from `time` and `random`",
    "subprocess": "there are no processes: use a tool",
    "socket": "there is no network: use a tool",
    "requests": "there is no network: use a tool",
    "httpx": "there is no network: use a tool",
    "urllib.request": "there is no network: use a tool",
    "pathlib": "there are no files: what you need stands in `inputs` or comes from a tool",
    "shutil": "there are no files: what you need stands in `inputs` or comes from a tool",
    "tempfile": "there are no files: use io.StringIO or io.BytesIO",
    "pickle": "use json",
    "multiprocessing": "use concurrent.futures.ThreadPoolExecutor, or asyncio.gather",
    "inspect": "functions and frames are not data here",
    "ctypes": "there is no native code here",
    "importlib": "use an import statement",
    "builtins": "name the builtin itself",
    "logging": "use print(…): what is printed is shown to you",
    "gc": "nothing needs collecting: a snippet runs once",
    "numpy": "use math and statistics",
    "pandas": "use lists of dicts, statistics and itertools",
}
"""Module → what to do instead."""
_SHOWN = 40
"""Names that a hint lists at most."""


class ImportRules:
    """The imports that one contract allows."""

    def __init__(self, imports: Collection[str], tools: Collection[str], faults: Faults) -> None:
        self._imports = frozenset(imports)
        self._tools = frozenset(tools)
        self._faults = faults

    def plain(self, node: ast.Import) -> None:
        """`import a.b as c`."""
        for alias in node.names:
            self._module(alias, alias.name)

    def from_module(self, node: ast.ImportFrom) -> None:
        """`from a.b import c`."""
        module = node.module or ""
        if node.level:
            hint = "a snippet is one module; tools are imported by `from tools import …`"
            self._faults.add(node, "import", "a relative import has nothing to be relative to", hint)
        elif module == "__future__":
            for alias in node.names:
                if alias.name not in __future__.all_feature_names:
                    self._faults.add(alias, "import_name", f"no future feature is called `{alias.name}`", "remove it")
        elif self._module(node, module):
            for alias in node.names:
                if alias.name != "*":
                    self.attribute(alias, module, alias.name, "import_name")

    def below(self, module: str, name: str) -> str:
        """The dotted name of a module in a module; empty where the name is none."""
        dotted = f"{module}.{name}"
        return dotted if dotted in MODULES and covered(dotted, self._imports) else ""

    def attribute(self, node: ast.AST, module: str, name: str, code: str = "attribute") -> None:
        """Look at a name that is taken from a module."""
        if not covered(module, self._imports):
            return  # said where it was imported
        names = names_of(module, self._imports)
        if names is None or name in names:
            return
        near = difflib.get_close_matches(name, names, 1)
        listed = ", ".join(sorted(names)[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        hint = f"did you mean `{near[0]}`?" if near else f"it has: {listed}" if names else "import its parts by name"
        self._faults.add(node, code, f"module `{module}` has no `{name}` in the restricted language", hint)

    def _module(self, node: ast.AST, module: str) -> bool:
        if covered(module, self._imports):
            return True
        if module in self._tools:
            hint = f"tools are imported by `from tools import {module}`"
        elif module.partition(".")[0] == "tools":
            hint = "tools are imported by `from tools import …`"
        else:
            allowed = ", ".join(sorted(each for each in self._imports if is_known(each))) or "none"
            instead = _INSTEAD.get(module) or _INSTEAD.get(module.partition(".")[0], "")
            hint = f"{instead}; allowed: {allowed}" if instead else f"allowed: {allowed}"
        self._faults.add(node, "import", f"module `{module}` is not in the contract's imports", hint)
        return False
