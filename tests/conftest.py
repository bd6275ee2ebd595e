"""Fixtures for every test: results in a temporary folder, the command line in process, a browser."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from hdbkit.cli import main
from hdbkit.config import Target
from hdbkit.databases import database, sql_session
from tests import generated, warm

gc.disable()  # until all tests are known, which takes a quarter less so

settings.register_profile("busy host", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy host")

warm.keep()

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema imports it, in 2 s, for a format of none

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's background job; programs under test need it
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ("tests.progress",)

ON_ONE_WORKER = (
    ("tests/architecture/",),
    ("tests/conformance/",),
    (
        "tests/run/test_run.py",
        "tests/run/test_hammerdb.py",
        "tests/run/test_cluster_build.py",
        "tests/run/test_postgresql_modules.py",
        "tests/run/test_profile_runs.py",
        "tests/run/test_repair.py",
    ),
    (
        "tests/run/test_agent.py",
        "tests/run/test_agent_sweep.py",
        "tests/run/test_bad_input.py",
        "tests/run/test_control_privileges.py",
        "tests/run/test_local_control.py",
        "tests/run/test_privileges.py",
        "tests/run/test_sessions.py",
        "tests/run/test_waits.py",
    ),
    (
        "tests/run/test_checking.py",
        "tests/run/test_doctor.py",
        "tests/run/test_faults_undone.py",
        "tests/run/test_pooler.py",
        "tests/run/test_standby.py",
        "tests/run/test_topologies.py",
        "tests/run/test_sweep_preparing.py",
    ),
)
"""Files that share servers of session scope, or the syntax trees of all modules: on one worker they are made once."""

LONG_KINDS = {"tests/conformance/": "odbc-mariadb", "tests/": "mysql"}
"""The kind of server whose tests are long, by folder: MariaDB stands for MySQL, but in the conformance suite, which
each change passes on both; there PostgreSQL stands for what ODBC reaches."""

LONGEST_FIRST = (
    "tests/notebooks/",
    "tests/browser/",
    *reversed(ON_ONE_WORKER),
    "tests/run/test_private_server",
    "tests/run/test_faults_server.py",
    "tests/run/",
    "tests/engines/",
    "tests/widgets/",
    "tests/unit/",
)
"""The order in which tests start, so that no worker is left with something long at the end."""

PATIENCE_MS = 180_000
"""How long a browser may take for one step: a busy host has taken a minute and a half to open a page."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_configure() -> None:
    """Let the kernels of this worker share its warm host."""
    warm.open_door()


def pytest_unconfigure() -> None:
    """Let the host end."""
    warm.leave()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave tests on a kind of server for which another one stands to ``make soak``: see ``LONG_KINDS``."""
    callspec = getattr(item, "callspec", None)
    long = next(kind for folder, kind in LONG_KINDS.items() if item.nodeid.startswith(folder))
    if callspec and long in [one for one in callspec.params.values() if isinstance(one, str)]:
        item.add_marker("long")


def pytest_collection_finish() -> None:
    """Have the collector look at what the tests make, not at the tests."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by ``LONGEST_FIRST``; within each, the order stays random."""
    items.sort(key=lambda item: [not item.nodeid.startswith(place) for place in LONGEST_FIRST])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fork the programs of hdbkit, except where their start is the subject."""
    warm.choose(item)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute by file, and keep files of ``ON_ONE_WORKER`` together."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            together = next((group for group in ON_ONE_WORKER if nodeid.startswith(group)), None)
            return together[0] if together else super()._split_scope(nodeid)

        def remove_node(self, node: Any) -> str | None:
            """Do not run the test again during which a worker ended, which would hang or end the next worker too."""
            crashed = None
            for unit in self.assigned_work[node].values():
                crashed = crashed or next((nodeid for nodeid, done in unit.items() if not done), None)
                unit.update({nodeid: True for nodeid in unit if nodeid == crashed})
            super().remove_node(node)
            return crashed

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def generated_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the generator of TPROC-H gave is kept for all workers of these tests."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "tproc_h"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(generated.FOLDER, str(folder))
        yield


@pytest.fixture(scope="module", autouse=True)
def panels_at_rest() -> Iterator[None]:
    """Panels that a module's tests left open look at no other test's folder of results."""
    yield
    if found := sys.modules.get("hdbkit.widgets.parts.ticker"):
        for one in [*found._CLOCK._tickers]:
            one.cancel()


@pytest.fixture(autouse=True)
def results(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where this test's runs land."""
    folder = tmp_path_factory.mktemp("results")
    monkeypatch.setenv("HDBKIT_RESULTS", str(folder))
    return folder


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


HdbkitCommand = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> HdbkitCommand:
    """Calls ``hdbkit`` with words, in this process."""

    def call(*words: object) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, out, err)

    return call


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, which ends with the module: playwright allows one at a time in a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium here; make tools brings it where it can")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


def login_options(target: Target) -> dict[str, str]:
    """The target's options, with MySQL's usual method of login permitted without TLS."""
    return {**target.options, **({"auth_plugin": "caching_sha2_password"} if target.kind == "mysql" else {})}


def shown(target: Target, name: str) -> str:
    """The value of a setting, as a session of this target sees it."""
    with closing(database(target).connect(target)) as session:
        return str(database(target).settings_of(session)[name]["value"])


def execute(target: Target, *commands: str) -> None:
    """Execute commands in a session of their own."""
    with closing(sql_session(target)) as session:
        for command in commands:
            session.execute(command)
