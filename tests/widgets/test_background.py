"""A widget that is used from a background thread receives messages, whichever page the kernel served before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

CELL = """
import ipywidgets
from hdbkit.widgets.parts.live import LiveChart
from hdbkit.widgets.parts.ticker import every
chart, other = LiveChart(), ipywidgets.IntText()
ticker = every(0.5, lambda: chart.send({"kind": "point"}))
other.comm.comm_id, chart.comm.comm_id
"""
PATIENCE_S = 60


@pytest.fixture
def client() -> Iterator[Any]:
    manager, client = start_new_kernel(startup_timeout=120)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


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


def says(kind: str) -> Any:
    return lambda message: message["content"].get("data", {}).get("content", {}).get("kind") == kind


@pytest.mark.parametrize("spoken_to", ["other", "chart"])
def test_a_page_that_is_gone_makes_no_widget_deaf(client: Any, spoken_to: str) -> None:
    about = client.kernel_info(reply=True, timeout=PATIENCE_S)["content"]
    if "kernel subshells" not in about.get("supported_features", []):
        pytest.skip("this ipykernel has no subshells")
    client.execute(CELL)
    result = heard(client, lambda message: message["msg_type"] == "execute_result")
    other, chart = (one.strip("'") for one in result["content"]["data"]["text/plain"].strip("()").split(", "))
    hello = {"comm_id": chart, "data": {"method": "custom", "content": {"kind": "hello"}}}
    page = control(client, "create_subshell_request", {})["subshell_id"]
    asked = {"comm_id": other, "data": {"method": "update", "state": {"value": 2}}}
    last = send(client, "comm_msg", {"other": asked, "chart": hello}[spoken_to], page)
    heard(client, lambda message: message["parent_header"].get("msg_id") == last)
    heard(client, says("point"))
    heard(client, says("point"))
    control(client, "delete_subshell_request", {"subshell_id": page})
    send(client, "comm_msg", hello)
    heard(client, says("all"))
