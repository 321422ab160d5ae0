"""The MCP server itself, on the official SDK: it lists the offers, hands calls to the runs, and words the answers."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp.types as types
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.lowlevel.server import Server

from harness.api import Harness
from harness.contract.listing import listed_grants
from harness.contract.principal import Principal
from harness.contract.schema import compile_schema
from harness.core.errors import HarnessError, StoreError
from harness.front.instructions import INSTRUCTIONS
from harness.front.mcp.answers import is_error, refused
from harness.front.mcp.offers import (
    WAIT_SECONDS,
    Offer,
    answer_schema,
    check_schema,
    describe_schema,
    offers_of,
    resume_schema,
)
from harness.front.mcp.runs import Runs, Submission
from harness.registry.catalog import stubs

__all__ = ["Face", "Make", "Served", "build_server"]

MAX_PRINCIPALS = 200
"""Principals that are served at once, each with a harness of its own."""
SERVER_NAME = "execution-harness"

Make = Callable[[Principal | None], Harness]
"""A harness for a principal; None is the user of the process."""


@dataclass(frozen=True, slots=True)
class Served:
    """What one principal sees."""

    runs: Runs
    offers: Mapping[str, Offer]


class Face:
    """Contracts and principals of one server."""

    def __init__(self, make: Make, contracts: Iterable[Path], prefix: str, *, verified: bool) -> None:
        self._make = make
        self._contracts = list(contracts)
        self._prefix = prefix
        self._verified = verified
        self._served: dict[str, Served] = {}
        self._closed = False

    def name(self, word: str) -> str:
        """A tool of the server's own."""
        return f"{self._prefix}{word}"

    def served(self) -> Served:
        """What whoever asks may see. Raises MCPError where nobody is known to ask, or the server ends."""
        if self._closed:
            raise MCPError(types.INTERNAL_ERROR, "the server ends")
        principal: Principal | None = None
        if self._verified:
            token = get_access_token()
            if token is None or not token.subject:
                raise MCPError(types.INVALID_REQUEST, "no verified principal")
            claims = dict(token.claims or {})
            principal = Principal(token.subject, claims, str(claims.pop("iss", "token")))
        key = "" if principal is None else f"{principal.source}\n{principal.name}\n{json.dumps(claims, sort_keys=True)}"
        if key not in self._served:
            if len(self._served) >= MAX_PRINCIPALS:
                raise MCPError(types.INTERNAL_ERROR, "too many principals at once")
            harness = self._make(principal)
            offers = offers_of(harness, self._contracts, self._prefix)
            self._served[key] = Served(Runs(harness, self.name("resume")), offers)
        return self._served[key]

    async def close(self) -> None:
        """Cancel every run in order, and end every harness."""
        self._closed = True
        for served in self._served.values():
            served.runs.cancel("the server ends")
        for served in self._served.values():
            await served.runs.close()

    def kill_now(self) -> None:
        """End every box, from a signal's handler: the process ends in the next moment."""
        for served in self._served.values():
            served.runs.harness.kill_now()


def build_server(face: Face, version: str) -> Server[Any]:
    """The server; whoever runs it closes `face` afterwards."""

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_tools(face))

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(face, context, params.name, params.arguments or {})

    async def list_resources(_: Any, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return _read(face, str(params.uri))

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        yield {}

    return Server(
        SERVER_NAME,
        version=version,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _tools(face: Face) -> list[types.Tool]:
    offers = face.served().offers
    names = list(offers)
    tools = [
        types.Tool(
            name=name,
            description=offer.description,
            input_schema=offer.input_schema,
            output_schema=offer.output_schema,
            annotations=types.ToolAnnotations(read_only_hint=False, open_world_hint=True),
        )
        for name, offer in offers.items()
    ]
    look = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True)
    checked = {"ok": {"type": "boolean"}, "faults": {"type": "array", "items": {"type": "string"}}}
    return [
        *tools,
        types.Tool(
            name=face.name("check"),
            description="Every fault of a snippet under a contract, with line and way out. Nothing runs.",
            input_schema=check_schema(names),
            output_schema={"type": "object", "properties": checked, "required": ["ok", "faults"]},
            annotations=look,
        ),
        types.Tool(
            name=face.name("resume"),
            description="What became of a run that was paused or still ran; goes on with it where it can. "
            "Approvals are given by people elsewhere, never here.",
            input_schema=resume_schema(),
            output_schema=answer_schema(),
        ),
        types.Tool(
            name=face.name("describe"),
            description="The full text of the tools of a contract: arguments, results, errors, limits.",
            input_schema=describe_schema(names),
            output_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            annotations=look,
        ),
    ]


async def _call(face: Face, context: Any, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    served = face.served()
    tool = next((each for each in _tools(face) if each.name == name), None)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"there is no tool `{name[:100]}`")
    faults = compile_schema(tool.input_schema).faults(arguments)
    if faults:
        lines = [f"{each.path}: {each.message}" for each in faults]
        return _refusal(name, face, lines)

    async def tell(seconds: float, word: str) -> None:
        await context.session.report_progress(round(seconds, 1), None, word)

    if name in served.offers:
        said = Submission(
            snippet=arguments["snippet"],
            inputs=arguments.get("inputs", {}),
            key=arguments.get("key", ""),
            run=arguments.get("run", ""),
            finish=arguments.get("finish", True),
            wait_s=float(arguments.get("wait_seconds", WAIT_SECONDS)),
        )
        return _answer(await served.runs.submit(served.offers[name], said, tell))
    if name == face.name("resume"):
        wait_s = float(arguments.get("wait_seconds", WAIT_SECONDS))
        return _answer(await served.runs.resume(arguments["run"], wait_s, tell))
    offer = served.offers[arguments["contract"]]
    if name == face.name("check"):
        found = served.runs.check(offer, arguments["snippet"])
        return _result(found, "ok" if found["ok"] else "\n".join(found["faults"]), failed=not found["ok"])
    return _described(offer, arguments.get("tools", []))


def _refusal(name: str, face: Face, lines: list[str]) -> types.CallToolResult:
    """Arguments that do not fit: the answer has the shape of the tool that was meant."""
    if name in (face.name("check"), face.name("describe")):
        return _result({"ok": False, "faults": lines, "text": ""}, "\n".join(lines), failed=True)
    error = HarnessError("; ".join(lines))
    return _answer(refused(error, hint="mend the arguments"))


def _described(offer: Offer, tools: list[str]) -> types.CallToolResult:
    grants = listed_grants(offer.effective)
    unknown = [name for name in tools if name not in grants]
    if unknown:
        text = f"the contract lists no `{unknown[0][:100]}`; it lists {', '.join(f'`{each}`' for each in grants)}"
        return _result({"text": text}, text, failed=True)
    most = offer.effective.contract.permissions.search_above
    text = stubs({name: grants[name] for name in tools or grants}, most).source
    return _result({"text": text}, text)


def _answer(answer: dict[str, Any]) -> types.CallToolResult:
    made = _result(answer, json.dumps(answer, ensure_ascii=False), failed=is_error(answer))
    if answer["result_resource"]:
        link = types.ResourceLink(
            type="resource_link", uri=answer["result_resource"], name="result", mime_type="application/json"
        )
        made.content.append(link)
    return made


def _result(structure: dict[str, Any], text: str, *, failed: bool = False) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structure, is_error=failed)


def _read(face: Face, uri: str) -> types.ReadResourceResult:
    head, tail = "harness://runs/", "/result"
    run = uri.removeprefix(head).removesuffix(tail)
    if not (uri.startswith(head) and uri.endswith(tail)) or "/" in run:
        raise MCPError(types.INVALID_PARAMS, "there is no such resource")
    try:
        result = face.served().runs.result(run)
    except StoreError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from error
    text = json.dumps(result, ensure_ascii=False)
    contents: list[Any] = [types.TextResourceContents(uri=uri, mime_type="application/json", text=text)]
    return types.ReadResourceResult(contents=contents)
