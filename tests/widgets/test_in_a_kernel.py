"""Panels in a real kernel without a browser: what an executed notebook keeps, and messages of background threads."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Target
from tests.kernel import Kernel, kernel, new_notebook
from tests.widgets.conftest import build_null

TYPED = "tr0ub4dor-horse-staple"
PATIENCE_S = 180


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """The kernel of all these tests."""
    folder = tmp_path_factory.mktemp("kernel")
    with kernel(folder, os.environ | {"TYPED": TYPED, "HDBKIT_RESULTS": str(folder / "results")}) as made:
        yield made


@pytest.mark.long
def test_a_notebook_keeps_the_result_as_html_and_picture(one: Kernel, tmp_path: Path) -> None:
    target = build_null(Target(kind="nulldb", database=f"k{uuid.uuid4().hex[:12]}", options={"latency_us": "2000"}))
    (output,), _ = one.outputs(
        f"import os, hdbkit\nos.environ['HDBKIT_RESULTS'] = {str(tmp_path)!r}\n"
        f"panel = hdbkit.widgets.RunPanel(target={target.given!r}, load=hdbkit.Load("
        "virtual_users=1, rampup_s=0, duration_s=0.5))\npanel",
        "panel.start()\nresult = panel.wait()",
    )
    result = hdbkit.Workspace(results=tmp_path).result()
    assert set(output.data) == {"text/html", "text/plain", "image/png"}
    assert f"{result.metric_value:,.0f} NOPM" in output.data["text/html"]
    assert result.manifest.notice in output.data["text/html"]
    hdbkit.connect(target).drop()


PASSWORD_CELLS = """
import os
from hdbkit.widgets import TargetPanel
panel = TargetPanel()
panel
---
typed = {"method": "custom", "content": {"password": os.environ["TYPED"]}}
panel.password._handle_msg({"content": {"data": typed}, "buffers": []})
panel.given.value = "postgresql://somebody@127.0.0.1:1/nowhere"
---
import time
panel.test.click()
while "alert" not in panel._error.value:
    time.sleep(0.05)
panel.shared.target, panel.password
---
assert panel.shared.target.secret() == os.environ["TYPED"]
"""
USUAL_CELLS = "import ipywidgets, os\nipywidgets.Password(value=os.environ['TYPED'])"


def test_an_executed_notebook_holds_a_typed_password_nowhere(one: Kernel, tmp_path: Path) -> None:
    """With the usual widget it is found, so the search does find."""
    assert TYPED not in saved(one, tmp_path, PASSWORD_CELLS)
    assert TYPED in saved(one, tmp_path, USUAL_CELLS)


def saved(one: Kernel, folder: Path, cells: str) -> str:
    """The file of the executed notebook, with the state of its widgets."""
    from nbformat import write

    path = folder / "executed.ipynb"
    write(one.execute(new_notebook(*cells.split("---\n"))), path)
    content: dict[str, Any] = json.loads(path.read_text())
    assert content["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    return path.read_text()


THREAD_CELL = """
import ipywidgets
from hdbkit.widgets.parts.run_view import LiveChart
from hdbkit.widgets.parts.ticker import every
chart, other = LiveChart(), ipywidgets.IntText()
ticker = every(0.5, lambda: chart.send({"kind": "point"}))
other.comm.comm_id, chart.comm.comm_id
"""


def send(client: Any, msg_type: str, content: dict[str, Any], subshell_id: str | None = None) -> str:
    message = client.session.msg(msg_type, content)
    message["header"]["subshell_id"] = subshell_id
    client.shell_channel.send(message)
    return str(message["header"]["msg_id"])


def control(client: Any, msg_type: str, content: dict[str, Any]) -> Any:
    client.control_channel.send(client.session.msg(msg_type, content))
    return client.get_control_msg(timeout=PATIENCE_S)["content"]


def heard(client: Any, wanted: Any) -> Any:
    """The next message that the kernel publishes of those that are wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        message = client.get_iopub_msg(timeout=PATIENCE_S)
        if wanted(message):
            return message
    raise AssertionError("it never came")


@pytest.fixture
def client(one: Kernel) -> Iterator[Any]:
    with one.client(PATIENCE_S) as made:
        yield made


@pytest.mark.parametrize("spoken_to", ["other", "chart"])
def test_a_page_that_is_gone_makes_no_widget_deaf(client: Any, spoken_to: str) -> None:
    """A widget that is used from a background thread receives messages, whichever page the kernel served before."""
    about = client.kernel_info(reply=True, timeout=PATIENCE_S)["content"]
    if "kernel subshells" not in about.get("supported_features", []):
        pytest.skip("this ipykernel has no subshells")
    cell = client.execute(THREAD_CELL)
    result = heard(client, lambda message: message["msg_type"] == "execute_result" and parent(message) == cell)
    other, chart = (one.strip("'") for one in result["content"]["data"]["text/plain"].strip("()").split(", "))

    def says(kind: str) -> Any:
        return lambda message: (
            message["content"].get("comm_id") == chart
            and message["content"].get("data", {}).get("content", {}).get("kind") == kind
        )

    hello = {"comm_id": chart, "data": {"method": "custom", "content": {"kind": "hello"}}}
    page = control(client, "create_subshell_request", {})["subshell_id"]
    asked = {"comm_id": other, "data": {"method": "update", "state": {"value": 2}}}
    last = send(client, "comm_msg", {"other": asked, "chart": hello}[spoken_to], page)
    heard(client, lambda message: parent(message) == last)
    heard(client, says("point"))
    heard(client, says("point"))
    control(client, "delete_subshell_request", {"subshell_id": page})
    send(client, "comm_msg", hello)
    heard(client, says("all"))
    client.execute("ticker.cancel()", reply=True, timeout=PATIENCE_S)


def parent(message: Any) -> str:
    return str(message["parent_header"].get("msg_id"))
