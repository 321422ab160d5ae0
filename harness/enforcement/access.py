"""Check 1: is the tool listed? A tool that exists elsewhere and one that exists nowhere get the same answer."""

from harness.core.verdict import Code, Decision, Verdict
from harness.enforcement.facts import Compiled, ToolFacts
from harness.enforcement.words import listed, nearest, shown

__all__ = ["check"]


def check(compiled: Compiled, tool: str) -> ToolFacts | Verdict:
    """The facts of a listed tool, or the refusal. Only listed names are ever suggested."""
    facts = compiled.tools.get(tool)
    if facts is not None:
        return facts
    near = nearest(tool, compiled.names)
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}? " if near else ""
    hint += f"tools here: {listed(compiled.names)}" if compiled.names else "this contract lists no tools"
    return Verdict(Decision.DENY, Code.UNLISTED, (f"there is no tool {shown(tool)} here",), hint)
