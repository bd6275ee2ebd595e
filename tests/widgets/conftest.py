"""Helpers of the panel tests: waiting for background work, and one real server for all."""

from __future__ import annotations

import html
import re
import time
import uuid
from collections.abc import Callable, Iterator

import ipywidgets
import pytest

from hdbkit.config import Target, TprocCSpec
from hdbkit.databases import database
from hdbkit.servers import PrivateServer, find_binaries, private_server
from hdbkit.widgets import Panel, PasswordField
from hdbkit.widgets.parts.base import Alert
from hdbkit.widgets.parts.experiment_view import ChartBox
from hdbkit.workloads import workload

_PATIENCE_S = 180.0


def until(condition: Callable[[], object]) -> None:
    """Wait for what a panel does in the background."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def text_of(panel: Panel) -> str:
    """All HTML that a panel shows now."""
    shown = (one.value for one in below(panel.root) if isinstance(one, ipywidgets.HTML | Alert))
    return "\n".join(one for one in shown if not one.startswith("<style>"))


def questions(charts: ChartBox) -> list[str]:
    """The questions of the charts that a panel shows."""
    return [chart.question for chart in charts.view.charts]


def code_of(panel: Panel) -> str:
    """The Python call that a panel shows."""
    (shown,) = re.findall(r"<pre[^>]*>(.*?)</pre>", panel._call.value, re.DOTALL)
    return html.unescape(shown)


def below(widget: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    """A widget and all in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from below(child)


def typed(field: PasswordField, password: str) -> None:
    """The message that the browser sends when somebody typed a password."""
    content = {"method": "custom", "content": {"password": password}}
    field._handle_msg({"content": {"data": content}, "buffers": []})


def build_null(target: Target) -> Target:
    """Record a schema of one warehouse as built; the null engine keeps no rows that somebody would have to load."""
    spec = TprocCSpec()
    schema = database(target).schema(target, workload(spec))
    schema.create(spec.model_dump_json())
    schema.finish()
    schema.close()
    return target


@pytest.fixture
def null_target() -> Target:
    """A database of the null engine, with nothing built."""
    return Target(kind="nulldb", database=f"w{uuid.uuid4().hex[:12]}")


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    """A private PostgreSQL; a test that builds a schema drops it."""
    if not any(one.kind == "postgresql" for one in find_binaries()):
        pytest.skip("no PostgreSQL binaries here; see: hdbkit doctor")
    with private_server("postgresql", settings={"fsync": "off"}) as server:
        yield server
