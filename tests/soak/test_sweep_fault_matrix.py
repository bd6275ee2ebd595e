"""Each part of a sweep on a real server is killed at each step: nothing is lost, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.api import experiment_result
from hdbkit.config import TprocCSpec
from hdbkit.config.passwords import TOKEN_VARIABLE
from hdbkit.databases import database
from hdbkit.execution.handle import RunHandle
from hdbkit.loading import build
from hdbkit.paths import results_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, private_server
from tests.run.agents import HOST, TOKEN, Agent, start_agent
from tests.run.faults import server_processes, signal_all
from tests.soak.doomed_sweep import CALLS, RUN, Doom, go_on

SPEC = """
name: doomed
settings: {%s}
virtual_users: [2]
blocks: 2
cache: restart
cooldown_s: 0.01
load: {rampup_s: 0.1, duration_s: 0.6}
"""
SETTINGS = {
    "postgresql": "shared_buffers: [64MB]",
    "mariadb": "innodb_log_buffer_size: [32M]",
    "mysql": "innodb_read_io_threads: [8]",
}
"""Of each kind one value that its server must be restarted for; in each of two blocks, a run."""
OF_SERVER = {
    "postgresql": {"fsync": "off", "listen_addresses": f"127.0.0.1,{HOST}"},
    "mariadb": {"bind-address": f"127.0.0.1,{HOST}"},
    "mysql": {"bind-address": f"127.0.0.1,{HOST}"},
}


@dataclass(frozen=True)
class Victim:
    """Who is killed, what becomes of the sweep at once, and what its journal says in the end.

    ``waits_s`` is how long the sweep waits for an agent that it goes through; one that is to come ``back`` is
    started again by who looks after it. ``delays_s`` are when, after a step has begun, the blow falls.
    """

    name: str
    ends: int | None = None
    reported: str = ""
    waits_s: float | None = None
    back: bool = False
    least_done: int = 2
    delays_s: tuple[float, ...] = ()


VICTIMS = (
    Victim("sweep", ends=-9, delays_s=(0.05,)),
    Victim("server", least_done=1, delays_s=(0.05,)),
    Victim("agent", ends=0, reported="answers again after", waits_s=120, back=True, delays_s=(0.2,)),
    Victim("agent for long", ends=1, reported="did not answer for", waits_s=0.5, delays_s=(0.2,)),
    Victim("sweep through agent", ends=-9, waits_s=120, delays_s=(0.2,)),
    Victim("server through agent", waits_s=120, least_done=1, delays_s=(0,)),
)
CASES = [(step, victim, delay_s) for victim in VICTIMS for step in CALLS for delay_s in victim.delays_s]
CASES += [(step, victim, 0) for victim in VICTIMS[:4] for step in RUN]
CASES += [("run going on", Victim("supervisor", least_done=1), 0)]
LAST = "drop_kept_data"
"""It may be over before the blow."""
UNASKED = ("host_load", *RUN[:2])
"""A run follows, which does without an agent: it may be back before anybody asks for it."""


@pytest.fixture(scope="module", params=SETTINGS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server(request.param, settings=OF_SERVER[request.param]) as own:
        build(own.target, TprocCSpec(warehouses=1))
        yield own


@pytest.fixture
def agent(
    server: PrivateServer, victim: Victim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Agent | None]:
    """What the sweep goes through, where it does."""
    if victim.waits_s is None:
        yield None
        return
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    started = start_agent(server.target, tmp_path / "agent")
    if victim.back:
        started.look_after(back_after_s=0.5)
    yield started
    started.end()


class Sweep:
    """A sweep of two runs in processes of its own."""

    def __init__(self, server: PrivateServer, agent: Agent | None, victim: Victim, folder: Path) -> None:
        self._server, self._agent, self._victim = server, agent, victim
        self._target = agent.target(server, wait_s=victim.waits_s) if agent else server.target
        self._spec, self._log = folder / "sweep.yaml", folder / "sweep.log"
        self._spec.write_text(SPEC % SETTINGS[server.place.kind])

    def go_on(self, step: str = "", delay_s: float = 0) -> int:
        """Begin or continue it, to its end or its death, with a blow at a step."""
        return go_on(self._target, self._spec, self._log, Doom(step, delay_s, self._blow))

    def _blow(self, run: RunHandle | None) -> None:
        match self._victim.name.split()[0]:
            case "sweep":
                os.kill(os.getpid(), signal.SIGKILL)
            case "supervisor":
                assert run is not None
                os.kill(run.folder.read().supervisor_pid or 0, signal.SIGKILL)
            case "server" if self._server.running:
                signal_all(server_processes(self._server), signal.SIGKILL)
            case "agent":
                assert self._agent is not None
                os.kill(self._agent.process.pid, signal.SIGKILL)

    @property
    def words(self) -> str:
        """The end of what it said."""
        return self._log.read_text()[-3000:]


def orders(server: PrivateServer) -> str:
    """What the schema's checks find, with the numbers of rows."""
    return str(hdbkit.connect(server.target).check().to_string())


def now(server: PrivateServer) -> str:
    """The settings that a session meets now."""
    engine = database(server.place.kind)
    with closing(engine.connect(server.target)) as session:
        return chosen(engine.settings_of(session))


def met(run_id: str) -> str:
    """The settings that a run met."""
    return chosen(json.loads(RunFolder(results_folder() / run_id).settings.read_text()))


def chosen(settings: dict[str, dict[str, Any]]) -> str:
    """Those that somebody chose, without the ones that are tried here."""
    tried = {text.partition(":")[0] for text in SETTINGS.values()}
    return str(sorted((name, one["value"]) for name, one in settings.items() if one["changed"] and name not in tried))


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("step", "victim", "delay_s"), CASES, ids=lambda one: str(getattr(one, "name", one)))
def test_each_planned_run_exists_once_and_the_settings_are_as_before(
    server: PrivateServer, agent: Agent | None, tmp_path: Path, step: str, victim: Victim, delay_s: float
) -> None:
    sweep = Sweep(server, agent, victim, tmp_path)
    before, set_before, rows = server.settings_file.read_bytes(), now(server), orders(server)
    ended = sweep.go_on(step, delay_s)
    struck = step != LAST or not delay_s
    if struck and victim.ends is not None:
        assert ended == victim.ends, sweep.words
    if ended:
        if agent:
            agent.again()
        assert sweep.go_on() == 0, sweep.words
    server.start()  # it stays down where it was struck last of all
    result = experiment_result()
    journal = result.folder.journal.lines
    if struck and step not in UNASKED:
        assert victim.reported in " ".join(line.note for line in journal)
    counted = [line.number for line in journal if line.step in (Step.RUN_FINISHED, Step.RUN_FAILED)]
    assert sorted(counted) == [1, 2]
    done = result.runs.query("status == 'done'")
    assert done["run_id"].is_unique
    assert len(done) >= victim.least_done, list(result.runs["note"])
    assert all(hdbkit.attach(run_id).status is Status.DONE for run_id in done["run_id"])
    assert {met(run_id) for run_id in done["run_id"]} == {set_before}
    assert (server.settings_file.read_bytes(), now(server)) == (before, set_before)
    assert orders(server) == rows
