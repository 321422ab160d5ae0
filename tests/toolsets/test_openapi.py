"""OpenAPI documents as tools, tried against a real server on loopback."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from harness.core.call import Effect
from harness.core.errors import Place as Spot
from harness.core.state import Event
from harness.toolsets.openapi_document import operations_of
from harness.toolsets.scan import first_overlay
from tests.toolsets.making import Place

PET = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "owner": {"type": "string", "nullable": True},
        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
    },
    "required": ["id", "name"],
}


def document(version: str, server: str) -> dict[str, Any]:
    """A shop's interface."""
    pet = {"$ref": "#/components/schemas/Pet"}
    gives = {"200": {"description": "it", "content": {"application/json": {"schema": pet}}}}
    page = {"type": "object", "properties": {"items": {"type": "array", "items": pet}, "next": {"type": "string"}}}
    name = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    found = json.loads(json.dumps(PET))
    if version.startswith("3.1"):
        found["properties"]["owner"] = {"type": ["string", "null"]}
    return {
        "openapi": version,
        "info": {"title": "shop", "version": "1"},
        "servers": [{"url": f"{server}/v{{v}}", "variables": {"v": {"default": "1"}}}],
        "components": {
            "schemas": {"Pet": found},
            "parameters": {"trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string"}}},
        },
        "paths": {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "summary": "All pets",
                    "parameters": [
                        {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 2}},
                        {"name": "after", "in": "query", "schema": {"type": "string"}},
                        {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                    ],
                    "responses": {
                        "200": {"description": "", "content": {"application/json": {"schema": page}}},
                    },
                },
                "post": {
                    "operationId": "addPet",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": pet}}},
                    "responses": {"201": gives["200"]},
                },
            },
            "/pets/{id}": {
                "parameters": [name],
                "get": {
                    "operationId": "get-pet",
                    "parameters": [
                        {"$ref": "#/components/parameters/trace"},
                        {"name": "id", "in": "query", "schema": {"type": "integer"}},
                    ],
                    "responses": gives,
                },
                "put": {
                    "operationId": "renamePet",
                    "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}},
                    "responses": {"204": {"description": "done"}},
                },
                "delete": {"responses": {"default": {"description": ""}}},
            },
            "/text": {"get": {"operationId": "text", "responses": {"200": {"description": ""}}}},
            "/upload": {
                "post": {
                    "operationId": "upload",
                    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": {}}}},
                    "responses": {},
                }
            },
            "/lost": {
                "get": {
                    "operationId": "lost",
                    "parameters": [{"name": "x", "in": "query", "schema": {"$ref": "#/components/schemas/No"}}],
                    "responses": {},
                }
            },
        },
    }


class Shop(http.server.BaseHTTPRequestHandler):
    """The server behind it."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        query = parse_qs(url.query)
        if self.headers.get("X-Api-Key") != "k3y-of-the-shop":
            return self.give(401, {"error": "who are you"})
        if self.command == "PUT":
            return self.give(204, None)
        if self.command == "POST":
            return self.give(201, json.loads(body))
        if url.path == "/v1/text":
            return self.give(200, "plain", "text/plain")
        if url.path == "/v1/pets":
            after = int(query.get("after", ["0"])[0])
            items = [{"id": number, "name": f"p{number}"} for number in range(after, min(after + 2, 5))]
            return self.give(200, {"items": items, **({"next": str(after + 2)} if after + 2 < 5 else {})})
        if url.path == "/v1/pets/missing":
            return self.give(404, {"error": "no such pet"})
        if url.path == "/v1/pets/nan":
            return self.give(200, "NaN", "application/json")
        return self.give(200, {"id": 2**60, "name": url.path, "owner": None, "friends": [{"id": 1, "name": "f"}]})

    do_POST = do_PUT = do_DELETE = do_GET

    def give(self, status: int, value: Any, media: str = "application/json") -> None:
        data = b"" if value is None else (value if media != "application/json" or value == "NaN" else json.dumps(value))
        data = data.encode() if isinstance(data, str) else data
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[Any]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def host(folder: Path, shop: Any, version: str = "3.0.3", **more: Any) -> Place:
    """A host with the document, scanned and admitted."""
    address = f"127.0.0.1:{shop.server_address[1]}"
    (folder / "shop.json").write_text(json.dumps(document(version, f"http://{address}")))
    key = {"in": "header", "name": "X-Api-Key", "value": "${secret:shop}"}
    said = {"name": "shop", "document": "shop.json", "credentials": [key], "private": [address], **more}
    (folder / "secret").write_text("k3y-of-the-shop\n")
    made = Place(folder, {"openapi": said}, secrets={"shop": {"file": "secret"}})
    source = made.host.tools[0]

    async def ask(toolsets: Any) -> Any:
        return await toolsets.source(source).definitions()

    if not (folder / "shop.tools.yaml").exists():
        (folder / "shop.tools.yaml").write_text(first_overlay(source, made.using(ask)))
    return made.admit()


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_operations_are_called_where_their_arguments_belong(tmp_path: Path, shop: Any, version: str) -> None:
    """Path, query, header, body; integers beyond 2^53 exact; null where it may be; text as text."""
    made = host(tmp_path, shop, version)
    outcomes = made.call(
        ("get-pet", {"id_path": "a/../b c", "id_query": 7, "X-Trace": "t1"}),
        ("listPets", {"tag": ["x", "y&z"], "limit": 1, "filter": {"age": 3}}),
        ("addPet", {"body": {"id": 1, "name": "Rex"}}),
        ("renamePet", {"id": "1", "body": {"name": "A B", "tags": ["p", "q"]}}),
        ("text", {}),
    )
    assert [(each.event, each.message) for each in outcomes] == [(Event.RETURN_VALID, "")] * 5
    assert outcomes[0].value["id"] == 2**60
    assert outcomes[2].value == {"id": 1, "name": "Rex"}
    assert [each.value for each in outcomes[3:]] == [None, "plain"]
    seen = [(method, path, body) for method, path, _, body in shop.seen]
    assert seen == [
        ("GET", "/v1/pets/a%2F..%2Fb%20c?id=7", b""),
        ("GET", "/v1/pets?tag=x&tag=y%26z&limit=1&filter%5Bage%5D=3", b""),
        ("POST", "/v1/pets", b'{"id":1,"name":"Rex"}'),
        ("PUT", "/v1/pets/1", b"name=A+B&tags=p&tags=q"),
        ("GET", "/v1/text", b""),
    ]
    assert shop.seen[0][2]["X-Trace"] == "t1"
    assert {headers["X-Api-Key"] for _, _, headers, _ in shop.seen} == {"k3y-of-the-shop"}
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.name != "secret")
    assert "k3y-of-the-shop" not in written


def test_verbs_only_tighten(tmp_path: Path, shop: Any) -> None:
    """†GET proposes to be a read; DELETE is destructive, with a preview that the scan wrote; the rest writes."""
    made = host(tmp_path, shop)

    async def contracts(toolsets: Any) -> Any:
        return dict(made.registry(toolsets).contracts())

    found = made.using(contracts)
    effects = {name: each.effect for name, each in found.items()}
    assert effects.pop("delete_pets_id") is Effect.DESTRUCTIVE
    assert set(effects.values()) == {Effect.WRITE}
    overlay = yaml.safe_load((tmp_path / "shop.tools.yaml").read_text())["tools"]
    assert overlay["listPets"] == {"proposed": {"effect": "read", "idempotency": "natural"}}
    assert overlay["renamePet"] == {"proposed": {"idempotency": "natural"}}
    assert overlay["delete_pets_id"]["preview"] == "delete_pets_id id={id}"
    assert "upload" not in found
    assert "lost" not in found


def test_an_answer_that_is_no_success_raises(tmp_path: Path, shop: Any) -> None:
    """A read FAILED; after a write it is UNKNOWN unless the overlay says otherwise; NaN is no JSON (C11)."""
    made = host(tmp_path, shop)
    made.overlay(
        "shop",
        delete_pets_id={"preview": "delete {id}"},
        **{"get-pet": {"effect": "read"}},
        addPet={"errors": {"SourceReported": {"no_effect": True}}},
    )
    missing, nan, up = made.call(
        ("get-pet", {"id_path": "missing"}), ("get-pet", {"id_path": "nan"}), ("get-pet", {"id_path": ".."})
    )
    assert (missing.event, missing.error_type) == (Event.RAISE_NO_EFFECT, "SourceReported")
    assert missing.message == '`get-pet` answered 404: {"error": "no such pet"}'
    assert (nan.event, nan.error_type) == (Event.RAISE_NO_EFFECT, "SourceBroke")
    assert (up.event, up.message) == (Event.RAISE_NO_EFFECT, "`id_path` is `..`, which cannot stand in a path")
    (tmp_path / "secret").write_text("wrong")
    [refused] = made.call(("addPet", {"body": {"id": 1, "name": "Rex"}}))
    assert refused.event is Event.RAISE_NO_EFFECT
    [lost] = made.call(("renamePet", {"id": "1"}))
    assert lost.event is Event.LOSE


def test_private_addresses_want_a_line(tmp_path: Path, shop: Any) -> None:
    """†A document cannot lead the host inside."""
    made = host(tmp_path, shop, private=[])
    [outcome] = made.call(("text", {}))
    assert (outcome.event, outcome.error_type) == (Event.RAISE_NO_EFFECT, "SourceUnavailable")
    assert outcome.message == "`text` was not sent: `127.0.0.1` lies at an address that is not public"
    assert shop.seen == []


def test_pages_are_read_to_their_end(tmp_path: Path, shop: Any) -> None:
    """Where the overlay declares how: the result is the list of all items, with their schema."""
    made = host(tmp_path, shop)
    pages = {"items": "items", "next": "next", "argument": "after"}
    words = {"effect": "read", "pages": pages}
    made.overlay("shop", delete_pets_id={"preview": "delete {id}"}, listPets=words)
    [outcome] = made.call(("listPets", {}))
    assert [each["id"] for each in outcome.value] == [0, 1, 2, 3, 4]
    words["pages"] = {**pages, "most": 2}
    made.overlay("shop", delete_pets_id={"preview": "delete {id}"}, listPets=words)
    [outcome] = made.call(("listPets", {}))
    assert outcome.message == "`listPets` has more than 2 pages"


def test_a_changed_document_is_refused_until_it_is_admitted(tmp_path: Path, shop: Any) -> None:
    """†Another server, for example."""
    made = host(tmp_path, shop)
    text = (tmp_path / "shop.json").read_text()
    (tmp_path / "shop.json").write_text(text.replace("/v{v}", "/w{v}"))
    [outcome] = made.call(("text", {}))
    assert (outcome.event, outcome.error_type) == (Event.RAISE_NO_EFFECT, "SourceChanged")


def test_what_cannot_be_a_tool_is_named_with_its_reason() -> None:
    """And the rest goes on. Other versions are refused as a whole."""
    found, faults = operations_of(document("3.0.3", "http://x"), "", Spot("d.json"))
    assert sorted(found) == ["addPet", "delete_pets_id", "get-pet", "listPets", "renamePet", "text"]
    assert [each.message for each in faults] == [
        "the operation `upload` (`POST /upload`) cannot be a tool: its body has no media type that is sent, only "
        "multipart/form-data",
        "the operation `lost` (`GET /lost`) cannot be a tool: "
        "the reference `#/components/schemas/No` points to nothing",
    ]
    for bad in ({"swagger": "2.0"}, {"openapi": "4.0.0"}, [], None):
        found, faults = operations_of(bad, "", Spot("d.json"))
        assert ([*found], faults[0].code) == ([], "bad_document")
