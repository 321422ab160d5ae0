"""An OpenAPI document as a source of tools: operations become functions that send one guarded request each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import structlog

from harness.contract.host_tools import CredentialPlace, OpenApiSource
from harness.contract.load import read_document
from harness.contract.tool import ToolContract
from harness.core.call import Json
from harness.core.errors import Place, Refused, RegistryRefused
from harness.outbound.client import Answer, HttpClient, NotReached, NotSent, Request
from harness.registry.preview import preview_of
from harness.registry.registry import Tool
from harness.registry.values import to_wire
from harness.toolsets.definition import Definition
from harness.toolsets.errors import SourceBroke, SourceChanged, SourceUnavailable, source_errors
from harness.toolsets.openapi_document import operations_of
from harness.toolsets.openapi_request import request_of, same_origin, value_of
from harness.toolsets.overlay import Pages, ToolWords
from harness.toolsets.secrets import Secrets

__all__ = ["OpenApi"]

_log = structlog.get_logger("harness.toolsets")


class OpenApi:
    """One document of the host file."""

    tail = ""
    """An API writes nothing beside its answers."""

    def __init__(self, source: OpenApiSource, folder: Path, secrets: Secrets) -> None:
        self._source = source
        self._folder = folder
        self._secrets = secrets
        self._client = HttpClient(source.private)
        self._now: dict[str, str] | None = None

    async def definitions(self) -> dict[str, Definition]:
        """The operations of the document now. Raises ContractRefused, RegistryRefused where it cannot be read."""
        return self._read()

    def tool(self, definition: Definition, words: ToolWords, contract: ToolContract) -> Tool:
        """The tool of an admitted operation. It calls what was admitted, whatever the document says by now."""
        return Tool(
            contract=contract,
            function=self._function(definition, words, contract.timeout_s),
            is_async=False,
            decode=dict,
            encode=to_wire,
            error_types=source_errors({name: said.rule for name, said in words.errors.items()}),
            preview=preview_of(words.preview),
        )

    async def close(self) -> None:
        """Nothing is held open."""

    def _read(self) -> dict[str, Definition]:
        place = Place(self._source.document)
        document = read_document(self._folder / self._source.document).values
        found, faults = operations_of(document, self._source.server.rstrip("/"), place)
        if not found and faults:
            raise RegistryRefused(faults)
        for fault in faults:
            _log.warning("operation_refused", source=self._source.name, why=fault.message)
        wanted = self._source.operations
        return {name: each for name, each in found.items() if not wanted or name in wanted}

    def _function(self, definition: Definition, words: ToolWords, timeout_s: float) -> Callable[..., Json]:
        raw, name, pages = definition.raw, definition.name, words.pages

        def call(**arguments: Json) -> Json:
            self._refuse_changed(definition)
            if pages is not None:
                return self._all(raw, name, arguments, pages, timeout_s)
            return value_of(self._send(request_of(raw, arguments, timeout_s), name), name)

        return call

    def _refuse_changed(self, definition: Definition) -> None:
        """†The document is read once in a host's life; an operation that it has changed is refused."""
        if self._now is None:
            try:
                self._now = {name: each.digest for name, each in self._read().items()}
            except Refused as error:
                raise SourceUnavailable(f"the document of `{self._source.name}` cannot be read") from error
        if self._now.get(definition.name) != definition.digest:
            raise SourceChanged(f"the operation `{definition.name}` changed since it was admitted")

    def _all(
        self, raw: Mapping[str, Any], name: str, arguments: Mapping[str, Json], pages: Pages, timeout_s: float
    ) -> Json:
        """Every page, as one list."""
        items: list[Json] = []
        request = request_of(raw, arguments, timeout_s)
        for _ in range(pages.most):
            page = value_of(self._send(request, name), name)
            found = _member(page, pages.items)
            if not isinstance(found, list):
                raise SourceBroke(f"`{name}` gave a page without the list `{pages.items}`")
            items += found
            token = _member(page, pages.next)
            if token in (None, "", False):
                return items
            request = self._following(raw, request, arguments, pages, token)
        raise SourceBroke(f"`{name}` has more than {pages.most} pages")

    def _following(
        self, raw: Mapping[str, Any], last: Request, arguments: Mapping[str, Json], pages: Pages, token: Json
    ) -> Request:
        if pages.argument:
            return request_of(raw, {**arguments, pages.argument: token}, last.timeout_s)
        url = urljoin(last.url, str(token))
        if not same_origin(url, last.url):
            raise SourceBroke("the next page lies at another origin, and credentials stay with theirs")
        return Request(last.method, url, last.headers, None, last.timeout_s)

    def _send(self, request: Request, name: str) -> Answer:
        headers, url = dict(request.headers), request.url
        for credential in self._source.credentials:
            value = self._secrets.fill(credential.value)
            if credential.place is CredentialPlace.HEADER:
                headers[credential.name] = value
            else:
                url += f"{'&' if '?' in url else '?'}{quote(credential.name, safe='')}={quote(value, safe='')}"
        try:
            return self._client.send(Request(request.method, url, headers, request.body, request.timeout_s))
        except NotSent as error:
            raise SourceUnavailable(f"`{name}` was not sent: {error.message}", hint=error.hint) from error
        except NotReached as error:
            raise SourceBroke(f"`{name}`: {error.message}") from error


def _member(page: Json, path: str) -> Json:
    for step in path.split("."):
        if not isinstance(page, dict):
            return None
        page = page.get(step)
    return page
