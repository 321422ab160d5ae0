"""The guides are run as they are written: titled files, commands, and the lines of `text` that they print."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.architecture.source import ROOT

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow, pytest.mark.xdist_group("servers")]
BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.S | re.M)


class Orders(http.server.BaseHTTPRequestHandler):
    """The shop of the guide about APIs."""

    def do_GET(self) -> None:
        after = parse_qs(urlsplit(self.path).query).get("after", [""])[0]
        page: dict[str, Any] = {"items": [{"id": 1, "total": 3}], "next": "2"}
        if after:
            page = {"items": [{"id": 2, "total": 12.5}], "next": None}
        known = self.headers.get("X-Api-Key") == "the-key"
        data = json.dumps(page if known else {}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Orders) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "guide", ["bring-a-function", "bring-an-mcp-server", "bring-an-api", "call-it-from-your-agent"]
)
def test_a_guide_runs_as_it_is_written(guide: str, tmp_path: Path, shop: str) -> None:
    """Every command ends well, and every shown line is among what was printed."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SHOP_KEY": "the-key",
        "COLUMNS": "200",
    }
    printed = ""
    for language, title, body in BLOCK.findall((ROOT / "docs" / f"{guide}.md").read_text("utf-8")):
        if title:
            filled = body.replace("${SHOP_HOST}", shop).replace("${SHOP}", f"http://{shop}")
            (tmp_path / title).write_text(filled, "utf-8")
        elif language == "sh":
            ran = subprocess.run(
                ["bash", "-euc", body], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180
            )
            printed = ran.stdout + ran.stderr
            assert ran.returncode == 0, printed
        elif language == "text":
            assert [line for line in body.splitlines() if line.strip() not in printed] == [], printed
