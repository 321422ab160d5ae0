"""Where a host's tools come from: Python, MCP servers, OpenAPI documents. Nothing is started or fetched here."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from harness.contract.amounts import Seconds, refuse
from harness.contract.sections import Name, Section, Text

__all__ = ["Credential", "CredentialPlace", "McpSource", "OpenApiSource", "Protocol", "SourceBox", "ToolSource"]

START_SECONDS = 30.0
"""Until a server has said hello and listed its tools: `npx` on a cold disk takes about ten."""


def _words(value: Any) -> Any:
    """A command as one text is its words; quoting needs a list."""
    return value.split() if isinstance(value, str) else value


class Protocol(StrEnum):
    """How the protocol's version is agreed on."""

    AUTO = "auto"
    """Ask for the newest, fall back to the handshake of older servers."""
    LEGACY = "legacy"
    """The handshake at once: for servers that end at a question that they do not know."""


def _authority(value: Any) -> Any:
    """`host:port` in lower case. No scheme, no path, no pattern."""
    if not isinstance(value, str):
        return value
    found = _AUTHORITY.fullmatch(value.lower())
    if found is None or not 0 < int(found["port"] or 443) < 1 << 16:
        raise refuse("bad_source", f"`{value[:80]}` is no `host:port`", "write `api.example.com:443`")
    return f"{found['host']}:{int(found['port'] or 443)}"


_AUTHORITY = re.compile(r"(?P<host>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
Egress = Annotated[str, BeforeValidator(_authority)]


class SourceBox(Section):
    """A box of its own for a server that is a process: the root read-only, no other processes, no network."""

    network: bool = False
    """True: the network of the host, all of it."""
    egress: tuple[Egress, ...] = ()
    """`host:port` (`host` alone: 443) that it reaches, through the host's proxy and no other way; none: nothing."""
    private: tuple[Egress, ...] = ()
    """Those of `egress` that may lie at private, loopback or link-local addresses."""
    write: tuple[Text, ...] = ()
    """Folders that it may write, relative to the host file; all else is read-only, or hidden."""
    hide: tuple[Text, ...] = ()
    """Folders that it finds empty, such as a home; relative to the host file."""

    @model_validator(mode="after")
    def _one_way_out(self) -> "SourceBox":
        if self.network and self.egress:
            hint = "leave out `network`: what `egress` lists is reached without it"
            raise refuse("bad_source", "`network: true` opens all that `egress` would bound", hint)
        if missing := sorted(set(self.private) - set(self.egress)):
            raise refuse("bad_source", f"`{missing[0]}` is private and no egress", "list it under `egress` too")
        return self


class McpSource(Section):
    """An MCP server: a process that is spoken to over its pipes, or an address."""

    name: Name
    """What messages, files and commands call it."""
    command: Annotated[tuple[Text, ...], BeforeValidator(_words)] = ()
    """Program and arguments."""
    url: Text = ""
    """Of a streamable HTTP endpoint."""
    env: Mapping[str, str] = Field(default_factory=dict)
    """The whole environment of the process, but PATH and what `inherit` names; may hold `${secret:NAME}`."""
    inherit: tuple[Name, ...] = ()
    """Variables of the host that are let in."""
    cwd: Text = "."
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Of every request; may hold `${secret:NAME}`."""
    prefix: str = Field(default="", max_length=60)
    """Put before every tool's name: `git.` makes `git.status`."""
    protocol: Protocol = Protocol.AUTO
    start_seconds: Seconds = START_SECONDS
    box: SourceBox | None = None
    user: Text = ""
    """As whom the process runs, where the host is root: `apart` for an id that owns nothing, or an account's name;
    unstated is the host's own, who can read store and keys."""

    @model_validator(mode="after")
    def _one(self) -> "McpSource":
        if bool(self.command) == bool(self.url):
            raise refuse("bad_source", "an MCP server is a command or an address", "write `command:` or `url:`")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise refuse("bad_source", f"`{self.url[:80]}` is no HTTP address", "write `http://…` or `https://…`")
        if self.url and (self.env or self.inherit or self.box is not None or self.user):
            hint = "leave out `env`, `inherit`, `box`, `user`"
            raise refuse("bad_source", "an address has no process to set up", hint)
        if self.command and self.headers:
            raise refuse("bad_source", "a process gets no headers", "leave out `headers`, or write `env`")
        return self


class CredentialPlace(StrEnum):
    """Where a credential of an API stands."""

    HEADER = "header"
    QUERY = "query"


class Credential(Section):
    """A credential of an API, out of the host's secrets."""

    place: Annotated[CredentialPlace, Field(alias="in")] = CredentialPlace.HEADER
    name: Text = "Authorization"
    value: Text
    """Text with `${secret:NAME}` in it: `Bearer ${secret:CRM_TOKEN}`."""


class OpenApiSource(Section):
    """An OpenAPI document, 3.0 or 3.1, as a file."""

    name: Name
    document: Text
    """File, YAML or JSON, relative to the host file."""
    server: Text = ""
    """Address in place of the document's first server."""
    credentials: tuple[Credential, ...] = ()
    private: tuple[Text, ...] = ()
    """Hosts (`127.0.0.1:8080`, `crm.internal`) that may lie at private, loopback or link-local addresses."""
    prefix: str = Field(default="", max_length=60)
    operations: tuple[Text, ...] = ()
    """Operation ids that become tools; none: every one."""


class ToolSource(Section):
    """Where tools come from. Exactly one of `python`, `mcp`, `openapi`."""

    python: Text = ""
    """`tools.py`, `tools.py:read,write`, `package.module` or `package.module:read,write`."""
    mcp: McpSource | None = None
    """An MCP server."""
    openapi: OpenApiSource | None = None
    """An OpenAPI document."""
    overlay: Text = ""
    """File of metadata that stands beside the source; unstated is `NAME.tools.yaml`."""

    @model_validator(mode="after")
    def _one(self) -> "ToolSource":
        if bool(self.python) + (self.mcp is not None) + (self.openapi is not None) != 1:
            hint = "write one of `python`, `mcp`, `openapi`"
            raise refuse("bad_source", "a tool source names exactly one place", hint)
        if self.python and self.overlay:
            hint = "Python tools carry their metadata in the decorator"
            raise refuse("bad_source", "a Python source has no overlay", hint)
        return self

    @property
    def name(self) -> str:
        """What messages and commands call it."""
        other = self.mcp or self.openapi
        return other.name if other is not None else self.python

    @property
    def overlay_file(self) -> str:
        """The file of its metadata."""
        return self.overlay or f"{self.name}.tools.yaml"
