"""A secret of the host is used on the host alone: not in the box, the record, the report, an error or a log."""

import json
import logging
from pathlib import Path

import pytest

from harness.api import Harness
from harness.core.errors import ContractRefused
from tests.e2e.host import HOST_FILE, Host, contract

pytestmark = pytest.mark.bubblewrap
SECRET = "s3cr3t-of-the-warehouse"
TOOL = '''

class Down(Exception):
    """The warehouse does not answer."""


@tool(effect="read", errors={Down: no_effect()})
def warehouse() -> int:
    """Ask the warehouse."""
    import os
    raise Down("login with " + os.environ["WAREHOUSE_TOKEN"] + " failed")


@tool(effect="read")
def undeclared() -> int:
    """Fail in a way that nobody declared."""
    import os
    raise RuntimeError("login with " + os.environ["WAREHOUSE_TOKEN"] + " failed")
'''
SNIPPET = """
import os
from tools import undeclared, warehouse
said = []
for ask in (warehouse, undeclared):
    try:
        ask()
    except Exception as error:
        said.append(str(error))
print(said)
return {"said": said, "environment": sorted(os.environ)}
"""


def host_with_a_secret(folder: Path) -> Harness:
    """The usual host, two tools that know a secret, and its place in the host file."""
    host = Host.at(folder, setting="bubblewrap")
    tools = folder / "tools.py"
    tools.write_text(
        tools.read_text().replace("from harness import tool", "from harness import no_effect, tool") + TOOL
    )
    (folder / "harness.yaml").write_text(HOST_FILE + "secrets:\n  WAREHOUSE: {env: WAREHOUSE_TOKEN}\n")
    return host.harness()


def test_it_is_nowhere_but_in_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A30, A39: a declared error is scrubbed, an undeclared one says nothing, and no file of the record holds it."""
    monkeypatch.setenv("WAREHOUSE_TOKEN", SECRET)
    document = contract()
    document["permissions"]["tools"] = [{"tool": "warehouse"}, {"tool": "undeclared"}]
    with caplog.at_level(logging.DEBUG):
        result = host_with_a_secret(tmp_path).run_sync(document, SNIPPET)
    assert result.result == {
        "said": [
            "login with [secret] failed",
            "`undeclared` raised `RuntimeError`, which it does not declare; its text stays on the host (see the host's "
            "log)",
        ],
        "environment": [],
    }
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "tools.py")
    captured = capfd.readouterr()
    said = json.dumps(result.to_json()) + captured.out + captured.err + caplog.text
    assert (SECRET.encode() in written, SECRET in said) == (False, False)


def test_a_contract_cannot_name_one_that_the_policy_does_not_give(tmp_path: Path) -> None:
    """A secret stands only in the fields that the policy lists for it; the built-in policy lists none."""
    document = contract()
    document["destination"][0]["notify"] = [{"webhook": "${secret:WAREHOUSE}", "on": ["accepted"]}]
    with pytest.raises(ContractRefused) as refused:
        Host.at(tmp_path, setting="bubblewrap").harness().bind(document)
    assert [fault.code for fault in refused.value.faults] == ["secret_not_allowed"]
