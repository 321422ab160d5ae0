"""The command `harness`: a group whose commands are imported when they are used, so that help is instant."""

import importlib
import sys
from typing import Any

import click

from harness.front.cli.failures import report_failure
from harness.front.cli.terminal import OutputLost, prepare

__all__ = ["LazyGroup", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("harness.front.cli.demo:demo", "Run a snippet against a real database and show every step."),
    "init": ("harness.front.cli.init:init", "Write a host file, a tool, a contract and a snippet to start from."),
    "check": ("harness.front.cli.check:check", "Report every fault of a contract, and of a snippet under it."),
    "run": ("harness.front.cli.run:run", "Run a snippet under a contract."),
    "resume": ("harness.front.cli.resume:resume", "Go on with a run that was paused, or whose host died."),
    "cancel": ("harness.front.cli.resume:cancel", "End a run, wherever it lives."),
    "runs": ("harness.front.cli.runs:runs", "List and show runs: calls, verdicts, and what waits for whom."),
    "approvals": ("harness.front.cli.approvals:approvals", "List, show and decide what waits for a person."),
    "contract": ("harness.front.cli.contract:contract", "Make, explain and lint contracts."),
    "tools": ("harness.front.cli.tools:tools", "List, show, scan, admit and try the tools of a host."),
    "mcp": ("harness.front.cli.mcp:mcp", "Serve contracts to an agent's MCP client."),
    "audit": ("harness.front.cli.audit:audit", "Verify the audit chain."),
    "image": ("harness.front.cli.image:image", "Build the image of the box."),
    "policy": ("harness.front.cli.policy:policy", "Explain a policy line by line; compare two."),
    "selftest": ("harness.front.cli.selftest:selftest", "Try to break out of live boxes; exits 1 where a wall fell."),
    "doctor": ("harness.front.cli.doctor:doctor", "Say what works on this machine, and how to mend what does not."),
}
"""Name, where it lives, and its line in the help: kept here so that help imports nothing."""


class LazyGroup(click.Group):
    """A group that knows its commands by table and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one that is asked for."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        importlib.import_module("harness.front.logs").configure()
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="execution-harness", message="%(version)s")
def cli() -> None:
    """Run model-written Python under an execution contract."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exits with the documented status, whatever happens."""
    prepare()
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        status: Any = cli.main(args=arguments, prog_name="harness", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(8)
    except Exception as error:  # noqa: BLE001 -- the top of a front door: every failure becomes its exit status
        sys.exit(_reported(error, as_json))
    sys.exit(status if isinstance(status, int) else 0)


def _reported(error: Exception, as_json: bool) -> int:
    try:
        return report_failure(error, as_json)
    except OutputLost as lost:
        return report_failure(lost, as_json)


if __name__ == "__main__":
    main()
