"""An agent in a process of its own, on the "host" 127.0.0.2, for a server that commands stop and start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.servers import PrivateServer
from hdbkit.servers.agent_client import AgentClient
from tests.run.conftest import password_of

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


@dataclass
class Agent:
    """A running agent and what its client needs to know."""

    process: subprocess.Popen[str]
    url: str
    fingerprint: str | None
    state: Path

    def target(self, server: PrivateServer, **control: Any) -> Target:
        """The server as another host sees it."""
        given = {"agent": self.url, "fingerprint": self.fingerprint, **control}
        secret = SecretStr(password_of(server.target))
        return server.target.with_(
            server_folder=None, password_file=None, host=HOST, password=secret, control=ControlSpec(**given)
        )

    def client(self, **control: Any) -> AgentClient:
        """Asks it."""
        return AgentClient(ControlSpec(**{"agent": self.url, "fingerprint": self.fingerprint, **control}))

    def audit(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in (self.state / "audit.ndjson").read_text().splitlines()]

    def kill(self) -> None:
        """As ``kill -9``."""
        self.process.kill()
        self.process.wait()


_QUICKLY = """
import json, sys
from hdbkit.agent import AgentOptions, serve
from hdbkit.config import Target
options = AgentOptions(listen=sys.argv[1], state=sys.argv[2])
say = lambda one: print(json.dumps({"url": one.url, "fingerprint": one.fingerprint}, indent=1), flush=True)
serve(Target.parse("own"), options, say)
"""
"""An agent without the command line, whose imports take longer than all the rest."""


def start_agent(target: Target, folder: Path, listen: str = f"{HOST}:0", words: Sequence[str] = ()) -> Agent:
    """Start it, with ``words`` by the command line; ``folder`` holds its state and the entry of its target."""
    folder.mkdir(exist_ok=True)
    named = folder / "targets.yaml"
    named.write_text(yaml.safe_dump({"own": target.model_dump(mode="json", exclude_defaults=True)}))
    command = [sys.executable, "-c", _QUICKLY, listen, str(folder / "state")]
    if words:
        command = [str(Path(sys.executable).with_name("hdbkit")), "agent", "own", "--listen", listen]
        command += ["--state", str(folder / "state"), *words]
    environment = {**os.environ, "HDBKIT_TARGETS": str(named), "HDBKIT_AGENT_TOKEN": TOKEN}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    told = ""
    for line in process.stdout:
        told += line
        if line.startswith("}"):
            break
    about = json.loads(told)
    return Agent(process, about["url"], about.get("fingerprint"), folder / "state")


@contextmanager
def running_agent(target: Target, folder: Path, words: Sequence[str] = ()) -> Iterator[Agent]:
    """An agent for a block."""
    agent = start_agent(target, folder, f"{HOST}:0", words)
    try:
        yield agent
    finally:
        agent.process.terminate()
        agent.process.wait()
        assert agent.process.stdout is not None
        agent.process.stdout.close()
