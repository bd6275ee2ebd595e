"""Fixtures of runs: null databases (everything except a server), a finished run, and one real schema for all.

What has the scope of a session is read by many tests: a test that changes it brings it back, or uses a copy.
"""

from __future__ import annotations

import itertools
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import hdbkit
from hdbkit.api import Result, Workspace
from hdbkit.config import Target, TprocCLoad, TprocCSpec
from hdbkit.databases import database
from hdbkit.databases.nulldb.state import State
from hdbkit.experiment import plan as experiment_plan
from hdbkit.plan import new_run_id
from hdbkit.servers import PrivateServer
from hdbkit.workloads import workload
from tests.run.warehouse import built_server

NullTarget = Callable[..., Target]


@pytest.fixture(scope="session")
def null_target() -> Iterator[NullTarget]:
    """Makes a target of the null engine with two warehouses "built"; options become the target's."""
    made: list[State] = []

    def make(**options: Any) -> Target:
        name = f"t{uuid.uuid4().hex[:12]}"
        target = Target(kind="nulldb", database=name, options={k: str(v) for k, v in options.items()})
        spec = TprocCSpec(warehouses=2)
        with closing(database(target).schema(target, workload(spec))) as schema:
            schema.create(spec.model_dump_json())
            schema.finish()
        made.append(State(target))
        return target

    yield make
    for state in made:
        shutil.rmtree(state.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def finished(null_target: NullTarget, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of two users with a window of one second, in a results folder of its own, to be read."""
    load = TprocCLoad(virtual_users=2, rampup_s=0.3, rampup_max_s=60, duration_s=1, keep_order_ids=True)
    own = Workspace(results=tmp_path_factory.mktemp("finished"))
    return own.run(null_target(latency_us=1000, spread=0.3), load=load, label="finished")


@pytest.fixture
def copied(finished: Result, results: Path) -> Result:
    """A copy of this run in the results folder of the test, which may do with it what it likes."""
    shutil.copytree(finished.folder.path, results / finished.run_id)
    return hdbkit.result(finished.run_id)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateServer]:
    """A private server with a schema of one warehouse; a test leaves its settings and its accounts as they were."""
    with built_server(tmp_path_factory, {"fsync": "off", "listen_addresses": "127.0.0.1,127.0.0.2"}) as server:
        yield server


@pytest.fixture(autouse=True)
def as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test fails that leaves the server of all others down, or with other settings or accounts; they are reset."""
    if "built" not in request.fixturenames:
        yield
        return
    server: PrivateServer = request.getfixturevalue("built")
    before = _state_of(server)
    yield
    after = _state_of(server) if server.running else {}
    if after != before:
        for path in _settings_files(server):
            path.write_text(before[path.name])
        server.restart()
    assert {name for name in before if after.get(name) != before[name]} == set()


def _settings_files(server: PrivateServer) -> list[Path]:
    return [server.place.data / "postgresql.conf", server.settings_file]


def _state_of(server: PrivateServer) -> dict[str, Any]:
    from tests.run.faults import ask  # it needs password_of

    return {
        **{path.name: path.read_text() for path in _settings_files(server)},
        **dict(ask(server, "SELECT name, setting FROM pg_settings WHERE source = 'configuration file'")),
        "accounts": ask(server, "SELECT rolname, rolsuper, rolconnlimit, rolconfig FROM pg_roles ORDER BY 1"),
    }


@pytest.fixture
def drop_in(built: PrivateServer) -> Iterator[Path]:
    """A folder of settings files, which the server's own file reads at its end; that file is as before afterwards."""
    config, folder = built.place.data / "postgresql.conf", built.place.data / "conf.d"
    content = config.read_bytes()
    folder.mkdir()
    built.place.give(folder)
    with config.open("a") as file:
        file.write("include_dir = 'conf.d'\n")
    yield folder
    config.write_bytes(content)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def replica(built: PrivateServer) -> Iterator[Target]:
    """A streaming standby of the server with the schema."""
    from tests.run.standbys import standby  # it needs password_of

    with standby(built) as target:
        yield target


def password_of(target: Target) -> str:
    """The password of a private server's account, from its password file, whichever form that has."""
    assert target.password_file is not None
    line = re.compile(rf'(?:^|:){target.user}:(.+)$|^\[client_{target.user}\]\n.*\npassword = "(.+)"$', re.MULTILINE)
    (found,) = line.findall(target.password_file.read_text())
    return "".join(found)


def wait_for(condition: Callable[[], bool], at_most_s: float = 60) -> None:
    """Wait until this holds."""
    until = time.monotonic() + at_most_s
    while not condition():
        assert time.monotonic() < until, "it did not become true in time"
        time.sleep(0.05)


def operations(result: Result) -> pd.DataFrame:
    """The table of operations, in the order of their starts."""
    rows: pd.DataFrame = pq.read_table(result.folder.operations).to_pandas()
    return rows.sort_values("t_start_us", ignore_index=True)


@pytest.fixture
def own_run_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three random letters tell runs of one second apart; runs of no time are dozens of them."""
    count = itertools.count()
    monkeypatch.setattr(experiment_plan, "new_run_id", lambda *given: f"{new_run_id(*given)}-{next(count)}")
