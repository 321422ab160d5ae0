"""`harness mcp`: contracts as tools of an MCP client."""

import asyncio
import importlib
import logging
import sys
from pathlib import Path
from typing import Any

import click

from harness.core.errors import EnvironmentUnavailable
from harness.front.cli.options import backend_option, host_option, policy_option

__all__ = ["mcp"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command()
@click.argument("contracts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--http", "http", metavar="HOST:PORT", help="Serve streamable HTTP there in place of stdin and stdout.")
@click.option("--access", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Who may ask, over HTTP.")
@click.option("--url", default="", help="The address that clients use, where a proxy stands before it.")
@click.option("--unverified", is_flag=True, help="Over HTTP on loopback: everybody is the user of this process.")
@click.option("--prefix", default="harness_", show_default=True, help="Before the name of every tool.")
@host_option
@policy_option
@backend_option
def mcp(contracts: tuple[Path, ...], http: str | None, **options: Any) -> int:
    """Serve CONTRACTS to an agent's MCP client: one tool each, and check, resume, describe."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    serve = _serving()
    offering = serve.Offering(
        contracts, options["host_file"], options["policy"], options["backend"] or "", options["prefix"]
    )
    if http is None:
        return int(asyncio.run(serve.serve_stdio(offering)))
    host, _, port = http.rpartition(":")
    if not host or not port.isdecimal():
        raise click.UsageError(f"`--http {http}` is not of the form HOST:PORT")
    if options["access"] is None and not (options["unverified"] and host in LOOPBACK):
        raise click.UsageError(
            "over HTTP principals are verified: give `--access FILE`, or `--unverified` on a loopback address"
        )
    place = serve.HttpPlace(host, int(port), options["access"], options["url"])
    return int(asyncio.run(serve.serve_http(offering, place)))


def _serving() -> Any:
    """The serving part; it needs the extra."""
    try:
        return importlib.import_module("harness.front.mcp.serve")
    except ModuleNotFoundError as error:
        raise EnvironmentUnavailable(
            "the MCP server needs the package `mcp`", hint="pip install 'execution-harness[mcp]'"
        ) from error
