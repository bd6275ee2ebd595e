"""An agent in a separate process, on the "host" 127.0.0.2, for a server that commands stop and start."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil
import yaml
from pydantic import SecretStr

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.programs import Process, start_program
from hdbkit.servers import PrivateServer
from hdbkit.servers.agent_client import AgentClient
from tests.run.conftest import password_of
from tests.run.faults import until

TOKEN = "a token that only the tests of agents know"
HOST = "127.0.0.2"


def commands_of(server: PrivateServer) -> Commands:
    """What stops and starts a private server from outside, as its account."""
    place = server.place
    account = f"--reuid={place.uid} --regid={place.uid} --clear-groups".split()
    words = ["setpriv", *account] if place.uid is not None else []
    words += [str(place.binaries / "pg_ctl"), "-s", "-w", "-D", str(place.data)]
    logged = [*words, "-l", str(place.log)]
    return Commands(stop=[*words, "stop"], start=[*logged, "start"], status=[*words, "status"])


def own_target(server: PrivateServer, **control: Any) -> Target:
    """The server as its own host sees it: an administrator's account, commands, and a file or folder of settings."""
    spec = ControlSpec(commands=commands_of(server), log=server.place.log, **control)
    return server.admin.with_(server_folder=None, may_change_settings=True, may_restart=True, control=spec)


def remote_target(server: PrivateServer, **control: Any) -> Target:
    """The server as another host sees it, whose agent is told by ``control``."""
    secret = SecretStr(password_of(server.target))
    return server.target.with_(
        server_folder=None, password_file=None, host=HOST, password=secret, control=ControlSpec(**control)
    )


@dataclass
class Agent:
    """A running agent, what its client needs to know, and who starts it again. ``folder`` is where it lives."""

    process: Process
    out: IO[str]
    url: str
    fingerprint: str | None
    folder: Path
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _over: bool = False

    @property
    def state(self) -> Path:
        """The folder that it keeps its state in."""
        return self.folder / "state"

    @property
    def address(self) -> dict[str, Any]:
        """What ``control`` of a target says of it."""
        return {"agent": self.url, "fingerprint": self.fingerprint}

    def target(self, server: PrivateServer, **control: Any) -> Target:
        """The server as another host sees it."""
        return remote_target(server, **{**self.address, **control})

    def client(self, keep: bool = False, **control: Any) -> AgentClient:
        """Asks it."""
        return AgentClient(ControlSpec(**{**self.address, **control}), keep)

    def audit(self, least: int = 0) -> list[dict[str, Any]]:
        """The lines of its log, once there are as many; a line is written behind its answer."""
        log = self.state / "audit.ndjson"
        until(lambda: len(log.read_text().splitlines()) >= least, f"the log has {least} lines")
        return [json.loads(line) for line in log.read_text().splitlines()]

    def kill(self) -> None:
        """As ``kill -9``."""
        self.process.kill()
        self.process.wait()

    def again(self) -> None:
        """The agent where it was: at the same address, with its folder."""
        with self._one_at_a_time:
            self._again()

    def look_after(self, back_after_s: float = 0) -> None:
        """Have it started again ``back_after_s`` after each of its ends, as systemd would, until ``end``."""
        threading.Thread(target=self._watch, args=(back_after_s,), daemon=True).start()

    def end(self) -> None:
        """Kill it, for good."""
        with self._one_at_a_time:
            self._over = True
            self._leave()

    def _watch(self, back_after_s: float) -> None:
        while not self._over:
            while psutil.pid_exists(self.process.pid):  # several threads cannot wait for it
                time.sleep(0.02)
            time.sleep(back_after_s)
            with self._one_at_a_time:
                if not self._over and self.process.poll() is not None:
                    self._again()

    def _again(self) -> None:
        self._leave()
        self.process, self.out, _ = _started(self.folder, self.url.removeprefix("https://"))

    def _leave(self) -> None:
        self.kill()
        self.out.close()


def start_agent(target: Target, folder: Path, listen: str = f"{HOST}:0", words: Sequence[str] = ()) -> Agent:
    """Start it, with ``words`` by the command line; ``folder`` holds its state and the entry of its target."""
    folder.mkdir(exist_ok=True)
    named = {"own": target.model_dump(mode="json", exclude_defaults=True)}
    (folder / "targets.yaml").write_text(yaml.safe_dump(named))
    process, out, about = _started(folder, listen, words)
    return Agent(process, out, about["url"], about.get("fingerprint"), folder)


def _started(folder: Path, listen: str, words: Sequence[str] = ()) -> tuple[Process, IO[str], dict[str, Any]]:
    """Its process, what it writes, and the line with its address."""
    state = str(folder / "state")
    program: tuple[str, ...] = ("tests.run.agent_process", listen, state)
    if words:
        program = ("hdbkit.cli", "agent", "own", "--listen", listen, "--state", state, *words)
    environment = {**os.environ, "HDBKIT_TARGETS": str(folder / "targets.yaml"), "HDBKIT_AGENT_TOKEN": TOKEN}
    reads, writes = os.pipe()
    process = start_program(*program, environment=environment, stdout=writes)
    os.close(writes)
    out = os.fdopen(reads)
    reported = ""
    for line in out:
        reported += line
        if line.startswith("}"):
            break
    return process, out, json.loads(reported)


@contextmanager
def running_agent(target: Target, folder: Path, words: Sequence[str] = ()) -> Iterator[Agent]:
    """An agent for a block."""
    agent = start_agent(target, folder, f"{HOST}:0", words)
    try:
        yield agent
    finally:
        os.kill(agent.process.pid, signal.SIGTERM)
        agent.process.wait()
        agent.end()
