"""The agent: who may use it, what it does and what it rejects, and that it does nothing else."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings

from hdbkit.agent.app import _failed, make_agent_app
from hdbkit.agent.server import ControlledServer, Snapshots
from hdbkit.config import Commands, ControlSpec
from hdbkit.config.fault import Fault
from hdbkit.contracts import ServerControl
from hdbkit.errors import (
    CannotConnect,
    InputError,
    NoneFree,
    ServerDown,
    ServerFailed,
    innermost_reason,
    is_caused_by,
)
from hdbkit.faults.actions import Actions
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.agent_client import AgentAway, AgentClient
from hdbkit.web.endpoint import make_state_folder, own_certificate
from tests.conftest import HdbkitCommand
from tests.run.agents import TOKEN, Agent, commands_of, own_target, running_agent, start_agent
from tests.run.conftest import NullTarget
from tests.run.faults import ask


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_AGENT_TOKEN", TOKEN)


@pytest.fixture(scope="module")
def agent(built: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent for the private server, which it changes through the end of the server's own file."""
    own = own_target(built, config_file=built.place.data / "postgresql.conf")
    words = ("--text-setting", "cluster_name", "--json")
    with running_agent(own, tmp_path_factory.mktemp("agent"), words) as running:
        yield running


@pytest.fixture
def remote(agent: Agent, built: PrivateServer) -> Iterator[ServerControl]:
    """Control through it; the server is as before at the end, byte for byte."""
    content = (built.place.data / "postgresql.conf").read_bytes()
    it = control(agent.target(built))
    before = it.snapshot()
    yield it
    it.restore(before)
    assert (built.place.data / "postgresql.conf").read_bytes() == content


def asked(agent: Agent, path: str, **headers: str) -> tuple[int, dict[str, str], Any]:
    """A request as anybody may send it: status, headers, content."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(agent.url.removeprefix("https://"), context=trusting)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def test_nothing_is_answered_without_the_token_and_guessing_is_slow(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_agent(null_target().with_(may_change_settings=True), tmp_path) as agent:
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert asked(agent, "/ping", **right)[0] == 200
        assert asked(agent, "/openapi.json")[0] == 401
        for wrong in ("", "Bearer", "Basic x", f"Bearer {TOKEN}x"):
            claimed = {"X-Forwarded-For": f"10.0.0.{len(wrong)}"}  # another address in each request
            status, _, content = asked(agent, "/settings", Authorization=wrong, **claimed)
            assert (status, list(content)) == (401, ["error"])
        status, headers, _ = asked(agent, "/ping", Authorization=f"Bearer {TOKEN}y")
        assert status == 429
        assert 0 < int(headers["retry-after"]) <= 60
        assert asked(agent, "/ping", **right)[0] == 200, "others behind the same address are not locked out"
        monkeypatch.setenv("HDBKIT_AGENT_TOKEN", f"{TOKEN}z")
        with agent.client(token_file=None) as client, pytest.raises(CannotConnect, match="it rejects the token"):
            client.get("ping")
        assert [line["status"] for line in agent.audit(9)] == [200, *[401] * 5, 429, 200, 429]
        assert TOKEN not in (agent.state / "audit.ndjson").read_text()


def test_connections_without_a_token_lock_nobody_out(null_target: NullTarget, tmp_path: Path) -> None:
    """Handshakes that do not begin, headers that do not end; many from one address, and from many addresses."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as slow, running_agent(null_target().with_(may_change_settings=True), tmp_path) as agent:
        url = urlsplit(agent.url)
        for number in range(150):
            source = "127.0.0.1" if number < 80 else f"127.0.1.{number}"
            one = socket.create_connection((url.hostname, url.port), 10, source_address=(source, 0))
            slow.callback(one.close)
            if number % 2:
                with suppress(OSError):  # the oldest are closed
                    one = trusting.wrap_socket(one)
                    slow.callback(one.close)
                    one.sendall(b"GET /ping HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        with agent.client() as client:
            assert client.get("ping")["agent"] == "hdbkit"
        with agent.client(keep=True) as client:
            assert client.get("ping") == client.get("ping")


def test_an_agent_can_require_a_client_certificate(null_target: NullTarget, tmp_path: Path) -> None:
    own = own_certificate(make_state_folder(tmp_path / "client", "agent"), "client", "client")
    other = own_certificate(make_state_folder(tmp_path / "other", "agent"), "client", "other")
    words = ("--client-ca", str(own.file), "--json")
    with running_agent(null_target().with_(may_change_settings=True), tmp_path / "agent", words) as agent:
        with agent.client(client_certificate=own.file, client_key=own.key) as client:
            assert client.get("ping")["agent"] == "hdbkit"
        for given in ({}, {"client_certificate": other.file, "client_key": other.key}):
            with agent.client(**given) as client, pytest.raises(AgentAway, match="check client_certificate and"):
                client.get("ping")


def test_a_token_that_is_refused_is_reported_with_what_to_do(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_AGENT_TOKEN", "another token of this length")
    with agent.client() as client, pytest.raises(CannotConnect, match="set HDBKIT_AGENT_TOKEN") as refused:
        client.get("ping")
    assert "another token" not in str(refused.value)
    monkeypatch.delenv("HDBKIT_AGENT_TOKEN")
    with pytest.raises(CannotConnect, match="no token is given"):
        agent.client()


def test_an_agent_with_another_certificate_never_sees_the_token(agent: Agent) -> None:
    with agent.client(fingerprint="ab" * 32) as client, pytest.raises(CannotConnect, match="nothing was sent"):
        client.get("unheard")
    with agent.client(fingerprint=None) as client, pytest.raises(CannotConnect, match="is not trusted"):
        client.get("unheard")
    assert "unheard" not in (agent.state / "audit.ndjson").read_text()


def test_it_does_not_listen_beyond_this_host_in_the_clear(command: HdbkitCommand, tmp_path: Path) -> None:
    for words, reported in (
        (("--listen", "0.0.0.0:0", "--no-tls"), "needs TLS"),
        (("--listen", "8443"), "an address and a port"),
        (("--certificate", "a.pem"), "both, or neither"),
        (("--client-ca", "a.pem"), "no certificates of authorities"),
    ):
        said = command("agent", "nulldb:///x", "--state", tmp_path, *words)
        assert (said.code, said.out) == (2, "")
        assert reported in said.err
    (tmp_path / "token").write_text("short\n")
    assert "shorter than 20" in command("agent", "nulldb:///x", "--token-file", tmp_path / "token").err


def test_a_token_that_it_made_is_reported_once_and_kept_nowhere(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hdbkit.agent import AgentOptions, StartedAgent, serve

    monkeypatch.delenv("HDBKIT_AGENT_TOKEN")
    reported: list[StartedAgent] = []

    class Enough(Exception): ...

    def say(started: StartedAgent) -> None:
        reported.append(started)
        raise Enough

    for _ in range(2):
        with pytest.raises(Enough):
            serve(null_target(), AgentOptions(listen="127.0.0.1:0", state=tmp_path / "state"), say)
    tokens = [str(started.token) for started in reported]
    assert len(set(tokens)) == 2
    assert reported[0].fingerprint == reported[1].fingerprint, "its certificate stays"
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o077 for path in kept if path.name != "certificate.pem"} == {0}
    assert not [path for path in kept for token in tokens if token in path.read_text()]


@pytest.mark.long
def test_it_reports_the_load_of_its_host(agent: Agent, remote: ServerControl) -> None:
    with agent.client() as client:
        names = {name for name, _, _ in client.get("metrics")["metrics"]}
        assert client.get("info")["running"] is True
        assert len(client.get("load")["load"]) == 3
    assert {"cpu_user_s", "cpu_iowait_s", "memory_used_bytes", "net_sent_bytes"} <= names
    load = remote.host_load()
    assert load is not None
    assert load.busy_s < load.total_s


def test_through_it_a_server_is_stopped_repaired_and_started(
    agent: Agent, remote: ServerControl, built: PrivateServer
) -> None:
    before = remote.snapshot()
    assert set(before) == {"identity", "snapshot"}, "nothing of a file leaves its host"
    with pytest.raises(ServerFailed, match=r"Cannot allocate memory.*the settings are as before"):
        remote.apply({"shared_buffers": "4TB"})
    assert remote.apply({"shared_buffers": "64MB", "cluster_name": "x"}).read_back["shared_buffers"] == "64MB"
    with agent.client() as client:
        client.post("stop")
        assert (built.running, client.get("info")["running"]) == (False, False)
        own = own_target(built, config_file=built.place.data / "postgresql.conf")
        silent = ControlledServer(own, control(own), Snapshots(agent.folder / "others"))
        assert "start the server with: " in str(silent.connect_error), "also where the identity is that of a file"
        with pytest.raises(ServerFailed, match="cannot connect"):
            client.get("settings")
        client.post("restart")
        client.post("stop")
    remote.restore(before)
    assert built.running
    assert remote.settings()["shared_buffers"].value == "16384"
    with pytest.raises(ServerFailed, match="has no snapshot"):
        remote.restore({**before, "snapshot": "0" * 64})
    with pytest.raises(ServerFailed, match="this needs a private server"):
        remote.keep_data()


def test_a_server_that_has_ended_is_started_before_it_is_set_through_it(
    remote: ServerControl, built: PrivateServer
) -> None:
    heard: list[str] = []
    remote.say = heard.append
    built.kill()
    assert remote.apply({"work_mem": "8MB"}).read_back == {"work_mem": "8MB"}
    assert ["was stopped; hdbkit starts it again" in one for one in heard] == [True]


def test_a_text_is_changed_only_where_it_was_named_at_the_start(remote: ServerControl) -> None:
    """A text may name a program: what the agent runs is fixed when it starts."""
    wanted = {"archive_command": "touch /x", "cluster_name": "x", "work_mem": "1", "work_mme": "1"}
    reported = remote.problems({name: [value] for name, value in wanted.items()})
    assert sorted(one.split()[0] for one in reported) == ["archive_command", "the", "work_mem"]
    with pytest.raises(ServerFailed, match="--text-setting archive_command"):
        remote.apply({"archive_command": "touch /x"})


def test_the_agent_and_the_target_are_of_one_database(agent: Agent, built: PrivateServer) -> None:
    with pytest.raises(InputError, match="of database hdbkit, but the target names other"):
        control(agent.target(built).with_(database="other"))
    refusing = control(agent.target(built).with_(may_change_settings=False))
    assert "may_change_settings" in refusing.problems({"work_mem": ["1MB"]})[0]
    refusing = control(agent.target(built).with_(may_restart=False))
    assert "may_restart" in refusing.problems({"shared_buffers": ["64MB"]})[0]


def test_no_request_breaks_it_runs_a_command_or_touches_a_file(built: PrivateServer, tmp_path: Path) -> None:
    """Each verb with what its OpenAPI document allows and forbids, token in hand, on a server that may be changed."""
    import schemathesis  # takes a second
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error

    config, ran = built.place.data / "postgresql.conf", tmp_path / "ran"
    touch = ("touch", str(ran))
    spec = ControlSpec(commands=Commands(start=touch, stop=touch, restart=touch), config_file=config)
    own = built.admin.with_(server_folder=None, may_change_settings=True, may_restart=False, control=spec)
    server = control(own)
    app = make_agent_app(ControlledServer(own, server, Snapshots(tmp_path / "snapshots")))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    before = (config.read_bytes(), server.settings(), sorted(tmp_path.iterdir()))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 17
    ways = [(one, GenerationMode.POSITIVE) for one in operations]
    ways += [(one, GenerationMode.NEGATIVE) for one in operations if one.body]
    for operation, mode in ways:

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def hold(case: Any) -> None:
            case.call_and_validate(checks=[not_a_server_error])

        hold()
    assert not ran.exists()
    assert (config.read_bytes(), server.settings(), sorted(tmp_path.iterdir())) == before


def test_the_fault_that_restarts_a_server_goes_through_its_agent(
    agent: Agent, built: PrivateServer, tmp_path: Path
) -> None:
    started, path = "SELECT pg_postmaster_start_time()", tmp_path / "fault-0.json"
    before = ask(built, started)
    action = Actions(agent.target(built), 1).of(Fault.parse("restart server at 0 s"), path)
    action.begin()
    action.end()
    assert ask(built, started) > before
    assert not path.exists()


@pytest.mark.long
def test_an_agent_without_a_settings_file_repairs_its_server_too(built: PrivateServer, tmp_path: Path) -> None:
    own = own_target(built)
    server = ControlledServer(own, control(own), Snapshots(tmp_path / "snapshots"))
    with pytest.raises(ServerFailed, match=r"superuser_reserved_connections.*the settings are as before"):
        server.apply({"max_connections": "1"})
    assert server.settings()["max_connections"].value == "200"
    (refusal,) = server.refused([{"max_connections": "1"}])
    assert refusal.startswith("the server would not start with max_connections = 1")


@pytest.mark.long
def test_an_agent_that_is_started_while_its_server_is_down_says_so_and_repairs_it_from_the_named_snapshot(
    built: PrivateServer, tmp_path: Path
) -> None:
    """As after a reboot of the host between ``ALTER SYSTEM`` and the restart."""
    own, auto = own_target(built), built.place.data / "postgresql.auto.conf"
    with running_agent(own, tmp_path) as agent:
        it, content = control(agent.target(built)), auto.read_text()
        before = it.snapshot()
        agent.kill()
        auto.write_text(f"{content}max_connections = '1'\n")
        built.stop()
        server = ControlledServer(own, control(own), Snapshots(tmp_path / "others"))
        assert server.connect_error is not None
        assert "start the server with: " in server.connect_error
        assert server.info()["identity"] is None
        agent.again()
        later = control(agent.target(built))
        with pytest.raises(CannotConnect, match="its server does not answer; start the server on its host"):
            later.identity  # noqa: B018  nothing is started to know it
        with pytest.raises(ServerFailed, match="superuser_reserved_connections"):
            later.start()
        assert "max_connections = '1'" in auto.read_text(), "no snapshot was named"
        later.start(before)
        assert later.identity == it.identity
    assert auto.read_text() == content
    assert built.running


def test_a_server_that_an_agent_could_not_bring_back_is_known_as_such() -> None:
    client = AgentClient(ControlSpec(agent="http://127.0.0.1:1"))
    answer = asyncio.run(_failed(None, ServerDown("it is down")))  # type: ignore[arg-type]
    with pytest.raises(ServerDown, match="it is down"):
        client._understood(answer.status_code, bytes(answer.body))


def test_a_server_of_an_agent_whose_connections_are_all_in_use_is_known_as_such() -> None:
    """The sweep then restores the original settings, and repeats the run."""
    client, failed = AgentClient(ControlSpec(agent="http://127.0.0.1:1")), ServerFailed("it was not applied")
    failed.__cause__ = NoneFree("db1", "all connections are in use", "use fewer")
    answer = asyncio.run(_failed(None, failed))  # type: ignore[arg-type]
    with pytest.raises(ServerFailed, match="it was not applied") as caught:
        client._understood(answer.status_code, bytes(answer.body))
    assert is_caused_by(caught.value, NoneFree)
    assert innermost_reason(caught.value) == "all connections are in use"


KILLS_ITS_AGENT_ONCE = """
import os, sys, signal
once, *command = sys.argv[1:]
if not os.path.exists(once):
    open(once, "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
os.execvp(command[0], command)
"""


def test_an_order_that_its_agent_did_not_survive_is_undone_and_given_again(
    built: PrivateServer, tmp_path: Path
) -> None:
    """Killed between writing a value and restarting, the value being one that keeps the server from starting."""
    config = built.place.data / "postgresql.conf"
    content, commands = config.read_bytes(), commands_of(built)
    script = (sys.executable, "-c", KILLS_ITS_AGENT_ONCE, str(tmp_path / "once"), *commands.start)
    own = own_target(built, config_file=config)
    slow = ControlSpec(**{**dict(own.control), "commands": commands.model_copy(update={"start": script})})
    own = own.with_(control=slow)
    agent = start_agent(own, tmp_path)
    it = control(agent.target(built))
    agent.look_after()
    try:
        with pytest.raises(ServerFailed, match=r"4TB was not applied.*the settings are as before"):
            it.apply({"shared_buffers": "4TB"})
        assert [line["path"] for line in agent.audit(5)] == [
            *("/info", "/snapshot"),
            *("/ping", "/restore", "/apply"),
        ], "the order that was broken off has no line"
    finally:
        agent.end()
    assert config.read_bytes() == content
    assert built.running
