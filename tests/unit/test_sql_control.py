"""Control of a server by SQL: what it changes, what it restores, and what it leaves to others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import ControlSpec, Target
from hdbkit.contracts import Session
from hdbkit.errors import ErrorClass, ServerFailed, TransactionError
from hdbkit.servers import launcher
from hdbkit.servers.file_control import LocalControl
from hdbkit.servers.settings_file import SettingsFile, with_earlier
from hdbkit.servers.sql_control import SqlControl

DEFAULTS = {"capacity": "200", "capacity_max": "2000", "dirty_pct": "90", "cache": "8", "of_others": "1"}
HELPING = {"dirty_pct": "0", "capacity_max": "9000", "capacity": "9000"}
ALLOWING = Target.parse("nulldb:///x").with_(may_change_settings=True)


class Server:
    """A server that applies settings at once, and has entries of its own file; ``lost_at`` loses one session."""

    def __init__(self) -> None:
        self.protected_settings: dict[str, str] = {}
        self.running, self.entries = dict(DEFAULTS), dict[str, str]()
        self.set: list[str] = []
        self.in_memory: set[str] = set()
        self.lost_at = ""
        self.left = 2
        self.read_at_start = ""

    def restart(self) -> None:
        self.running, self.in_memory = {**DEFAULTS, **self.entries}, set()

    def counters(self, _: Session) -> dict[str, float]:
        return {"commits": 0.0, "rollbacks": 0.0}

    def _by(self, name: str) -> str:
        return "restart" if name == self.read_at_start else "reload"

    def _waits(self, name: str) -> bool:
        return name == self.read_at_start and self.entries.get(name, self.running[name]) != self.running[name]

    def server_process(self, _: Session) -> None:
        """It is on another host."""

    def ask(self, operation: str, /, **given: Any) -> list[tuple[Any, ...]]:
        if operation == "set_running_setting":
            self.set.append(given["name"])
            self.running[given["name"]] = given["value"]
            self.in_memory.add(given["name"])
            return []
        if operation == "set_setting":
            self.entries[given["name"]] = given["value"]
            if given["name"] != self.read_at_start:
                self.running[given["name"]] = given["value"]
        if operation == "reset_setting":
            del self.entries[given["name"]]
        self.left -= operation == "rest_left"
        answers = {
            "rest_settings": list(HELPING.items()),
            "rest_left": [("pages", self.left)],
            "running_settings": [(name, value, name in self.in_memory) for name, value in self.running.items()],
            "file_entries": list(self.entries.items()),
            "settings_loaded_at": [(time.monotonic_ns(), 0)],
            "control_settings": [
                (
                    name,
                    value,
                    None,
                    None,
                    self._by(name),
                    None,
                    None,
                    None,
                    "size",
                    "",
                    value,
                    None,
                    self._waits(name),
                )
                for name, value in self.running.items()
            ],
        }
        return answers.get(operation, [])


class Opened:
    """A session of that server; once lost, it stays lost."""

    def __init__(self, server: Server) -> None:
        self.server, self.lost = server, False

    def ask(self, operation: str, /, **given: Any) -> list[tuple[Any, ...]]:
        if operation == self.server.lost_at:
            self.server.lost_at, self.lost = "", True
        if self.lost:
            raise TransactionError(ErrorClass.CONNECTION_LOST, "2013", "lost")
        return self.server.ask(operation, **given)


class Access:
    """Sessions of that server."""

    server: Server

    @contextmanager
    def _session(self, target: Target | None = None) -> Iterator[Session]:
        yield Opened(self.server)  # type: ignore[misc]


class Controlled(Access, SqlControl):
    """The control of that server by SQL."""

    identity = "its server"

    def __init__(self, server: Server, target: Target = ALLOWING) -> None:
        super().__init__(target)
        self.server, self.said = server, list[str]()
        self._engine, self.say = server, self.said.append  # type: ignore[assignment]


class Local(Access, LocalControl):
    """The control of that server by a file of this host; the server reads it when it is restarted."""

    def __init__(self, server: Server, file: Path, kind: str = "mysql", drop_in: Path | None = None) -> None:
        spec = ControlSpec(drop_in=drop_in) if drop_in else ControlSpec(config_file=file)
        super().__init__(ALLOWING.with_(control=spec), launcher(kind))
        self.server, self.said = server, list[str]()
        self._engine, self.say = server, self.said.append  # type: ignore[assignment]


def test_without_permission_maintenance_changes_no_setting() -> None:
    server = Server()
    Controlled(server, Target.parse("nulldb:///x")).maintain()
    assert server.set == []


def test_maintenance_speeds_up_background_work_and_resets_what_it_set() -> None:
    server = Server()
    Controlled(server).maintain()
    assert server.set == [*HELPING, *reversed(HELPING)]
    assert server.running == DEFAULTS


@pytest.mark.parametrize("lost_at", ["rest_left", "set_running_setting"])
def test_a_session_lost_in_maintenance_leaves_no_setting_behind(lost_at: str) -> None:
    server = Server()
    server.lost_at = lost_at
    Controlled(server).maintain()
    assert server.running == DEFAULTS


def test_what_cannot_be_reset_fails_the_run_and_is_reset_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    it, rightly = Controlled(server), Controlled._set_running

    def fail(*_: Any) -> None:
        raise TransactionError(ErrorClass.CONNECTION_LOST, "2006", "gone")

    monkeypatch.setattr(Controlled, "_set_running", fail)
    with pytest.raises(ServerFailed, match="capacity, capacity_max, dirty_pct could not be reset after maintenance"):
        it.maintain()
    monkeypatch.setattr(Controlled, "_set_running", rightly)
    assert server.running == {**DEFAULTS, **HELPING}
    it.start()
    assert server.running == DEFAULTS


def test_what_others_set_during_a_sweep_stays() -> None:
    server = Server()
    before = Controlled(server).snapshot(["cache"])
    Controlled(server).apply({"cache": "16"})
    server.entries |= {"of_others": "2"}
    server.running |= {"of_others": "2", "capacity": "9000"}  # the latter by a maintenance that was killed
    Controlled(server).restore(before)
    assert server.entries == {"of_others": "2"}
    assert server.running == {**DEFAULTS, "of_others": "2"}


def test_what_others_had_set_in_memory_is_set_again_after_a_restart_that_lost_it() -> None:
    server = Server()
    server.ask("set_running_setting", name="of_others", value="2")
    server.ask("set_running_setting", name="dirty_pct", value="80")
    before = Controlled(server).snapshot(["cache"])
    server.running, server.in_memory = {**DEFAULTS, "capacity": "300"}, set()  # restarted with another file
    Controlled(server).restore(before)
    assert server.running == {**DEFAULTS, "of_others": "2", "dirty_pct": "80", "capacity": "300"}
    server.ask("set_running_setting", name="of_others", value="3")
    Controlled(server).restore(before)
    assert server.running["of_others"] == "3", "set by others after the restart"


def test_a_restart_for_a_change_keeps_what_others_had_set_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    server.ask("set_running_setting", name="of_others", value="2")
    server.read_at_start = "cache"
    it = Controlled(server)
    monkeypatch.setattr(it, "_may_restart", lambda: True)
    monkeypatch.setattr(it, "_start_again", lambda: None)
    monkeypatch.setattr(it, "_restart", server.restart)
    it.apply({"cache": "16"})
    assert server.running == {**DEFAULTS, "cache": "16", "of_others": "2"}


def test_a_snapshot_that_names_no_settings_restores_all() -> None:
    server = Server()
    before = Controlled(server).snapshot()
    Controlled(server).apply({"cache": "16"})
    server.entries["of_others"] = server.running["of_others"] = "2"
    Controlled(server).restore(before)
    assert (server.entries, server.running) == ({}, DEFAULTS)


ORIGINAL = b"[mysqld]\ncache=8\n[client]\nuser=x"  # without a newline at its end


@pytest.mark.parametrize("kind", ["mysql", "postgresql"])
def test_a_file_that_nobody_edited_is_restored_byte_for_byte(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "its.cnf"
    file.write_bytes(ORIGINAL)
    it = Local(Server(), file, kind)
    before = it.snapshot(["cache"])
    for value in ("16", "32"):
        it._keep(None, {"cache": value}, {})  # type: ignore[arg-type]
    assert file.read_text().count("cache") == 2
    it.restore(before)
    assert (file.read_bytes(), it.said) == (ORIGINAL, [])


def test_a_file_that_others_edited_loses_only_the_lines_of_the_sweep(tmp_path: Path) -> None:
    """As weeks after a sweep was killed: an administrator has repaired the file, and added to it."""
    file = tmp_path / "its.cnf"
    file.write_bytes(ORIGINAL)
    it = Local(Server(), file)
    before = it.snapshot(["cache"])
    it._keep(None, {"cache": "16"}, {})  # type: ignore[arg-type]
    file.write_bytes(file.read_bytes().replace(b"cache=8", b"cache=9") + b"max_connections=500\n")
    it.restore(before)
    lines = [line for line in file.read_text().splitlines() if line]
    assert lines == ["[mysqld]", "cache=9", "[client]", "user=x", "[mysqld]", "max_connections=500"]
    assert it.said == [f"{file} was edited during the sweep; hdbkit removes its own lines and keeps the edits"]


@pytest.mark.parametrize(("added", "left"), [(b"", None), (b"max_connections=500\n", "max_connections=500")])
def test_a_new_file_is_removed_unless_others_wrote_to_it(tmp_path: Path, added: bytes, left: str | None) -> None:
    file = tmp_path / "zz-hdbkit.cnf"
    it = Local(Server(), file, drop_in=tmp_path)
    before = it.snapshot(["cache"])
    it._keep(None, {"cache": "16"}, {})  # type: ignore[arg-type]
    file.write_bytes(file.read_bytes() + added)
    it.restore(before)
    assert [*file.read_text().split()][1:] == [left] if left else not file.exists()
    assert len(it.said) == (left is not None)


LINES = "# do not edit\ncache = '8'\n"


@pytest.mark.parametrize(
    ("present", "earlier", "wanted"),
    [
        ("# do not edit\nother = '1'\ncache = '16'\n", "# do not edit\nother = '1'\n", None),
        (LINES.replace("8", "16") + "other = '2'\n", LINES, "# do not edit\nother = '2'\ncache = '8'\n"),
        ("cache = '16'\nother = '2'\n", None, "other = '2'\n"),
        ("", LINES, None),
        ("", None, None),
    ],
)
def test_of_a_servers_own_file_the_lines_of_the_sweep_are_as_before(
    present: str, earlier: str | None, wanted: str | None
) -> None:
    assert with_earlier(present, earlier, {"cache"}) == (earlier if wanted is None else wanted)
    assert with_earlier(present, earlier, None) == earlier


def test_of_a_servers_own_file_of_json_the_entries_of_the_sweep_are_as_before() -> None:
    def text(**values: str) -> str:
        entries = {name: {"Value": value, "Metadata": {"User": "x"}} for name, value in values.items()}
        return json.dumps({"Version": 2, "fixed": {"port": {"Value": "1"}}, **({"now": entries} if entries else {})})

    def restored(present: str, earlier: str) -> object:
        return json.loads(str(with_earlier(present, earlier, {"cache"})))

    spaced = text(cache="8").replace(" ", "  ")
    assert with_earlier(text(cache="16"), spaced, {"cache"}) == spaced, "byte for byte"
    several = text(cache="16", other="2")
    assert restored(several, text(cache="8", gone="3")) == json.loads(text(other="2", cache="8"))
    assert restored(several, text()) == json.loads(text(other="2"))
    assert with_earlier('{"Version": 2, "now": {"cache": {"Value": "1"}}}', None, {"cache"}) is None


def test_a_file_that_cannot_be_written_is_a_problem_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "its.cnf"
    file.write_bytes(ORIGINAL)
    it = Local(Server(), file)
    monkeypatch.setattr(Local, "_ungranted", lambda *_: [])
    assert it.problems({"cache": ["16"]}) == []
    monkeypatch.setattr(SettingsFile, "problem", lambda _: "it cannot be written")
    assert it.problems({"cache": ["16"]}) == ["it cannot be written"]
