"""A private server starts for every account, requires a password, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest
from pydantic import SecretStr

from hdbkit import api
from hdbkit.config import Target
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, InputError, ServerFailed
from hdbkit.paths import cache_folder, state_folder
from hdbkit.processes import birth_of
from hdbkit.servers import Binaries, PrivateServer, _guard, find_binaries, private_server
from tests.run.conftest import password_of
from tests.unit import own_workload

pytestmark = pytest.mark.skipif(not find_binaries(), reason="no server binaries here; see: hdbkit doctor")
ALL_BINARIES = find_binaries()
KINDS = sorted({one.kind for one in ALL_BINARIES})
NOBODY = 65534


@dataclass(frozen=True)
class Names:
    """What the rules need of an engine: some settings with what is read of them, and a name that is wrong."""

    settings: dict[str, object]
    read: dict[str, str]
    changed: set[str]
    wrong: str


NAMES = {
    "postgresql": Names(
        {"work_mem": "7MB", "fsync": False},
        {"work_mem": "7168", "fsync": "off"},
        {"max_connections", "max_wal_size", "checkpoint_timeout"},
        "shared_bufers",
    ),
    "mariadb": Names(
        {"sort_buffer_size": "7M", "innodb_doublewrite": False},
        {"sort_buffer_size": "7340032", "innodb_doublewrite": "OFF"},
        {"max_connections", "local_infile"},
        "sort_bufer_size",
    ),
}
FRESH = [kind for kind in KINDS if kind in NAMES]
"""Kinds that tests with servers of their own are run on; a third one would take too long."""


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server(request.param) as server:
        yield server


@pytest.fixture(scope="module")
def other() -> Iterator[PrivateServer]:
    """Another server on the same host, of the default kind."""
    with private_server() as server:
        yield server


@pytest.fixture(params=FRESH)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def processes_of(folder: Path | str) -> list[int]:
    """The living processes that name a folder on their command line, and the children of these."""
    named, parents = set(), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            parents[int(entry.name)] = int(parent)
            if str(folder) in words and int(entry.name) != os.getpid():
                named.add(int(entry.name))
    return sorted(named | {pid for pid, parent in parents.items() if parent in named})


def wait_until(reached: Callable[[], bool]) -> None:
    """The test's own time limit ends a wait for what never comes."""
    while not reached():
        time.sleep(0.02)


def answers(server: PrivateServer) -> bool:
    session = database(server.target).connect(server.target)
    try:
        return bool(database(server.target).version(session))
    finally:
        session.close()


def python_for(uid: int | None) -> str:
    """A Python of our version that ``uid`` may run: ours, or the system's where ours is in a private home."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            subprocess.run([program, "-c", ""], check=True, user=uid, cwd="/", timeout=60)
        except (OSError, subprocess.CalledProcessError):
            continue
        return program
    pytest.skip(f"account {uid} may run no {version}")


def run_python(script: str, *, uid: int | None = None) -> subprocess.Popen[str]:
    """A process of Python with a script."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [python_for(uid), "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env=environment,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )


OWNER = """
    import json, sys
    from hdbkit.servers import private_server
    server = private_server({arguments}).start()
    print(json.dumps([str(server.folder), server.target.port]), flush=True)
    sys.stdin.readline()
    {end}
"""


def starts_stops_and_starts_again(server: PrivateServer) -> None:
    assert server.running
    assert answers(server)
    server.restart()
    assert answers(server)
    server.stop()
    assert not server.running
    assert server.folder.is_dir()
    with pytest.raises(CannotConnect):
        answers(server)
    server.start()
    assert answers(server)


def test_a_server_of_every_kind_starts_stops_and_starts_again(server: PrivateServer) -> None:
    starts_stops_and_starts_again(server)


PREFERRED = [next(one for one in ALL_BINARIES if one.kind == kind) for kind in KINDS]


@pytest.mark.long
@pytest.mark.parametrize(
    "one",
    [one for one in ALL_BINARIES if one not in PREFERRED],
    ids=lambda one: f"{one.kind}-{one.version}-{one.source}",
)
def test_every_other_server_of_this_host_does_so_and_leaves_nothing(one: Binaries) -> None:
    with private_server(one.kind, version=one.version, source=str(one.folder)) as server:
        assert (server.place.version, server.place.binaries) == (one.version, one.folder)
        starts_stops_and_starts_again(server)
        folder = server.folder
    assert not folder.exists()
    assert processes_of(folder) == []


def test_the_server_runs_without_the_rights_of_root(server: PrivateServer) -> None:
    owners = set()
    for pid in processes_of(server.folder):
        with suppress(OSError):  # a session may end at any time
            if b"_guard.py" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                owners.add(Path(f"/proc/{pid}").stat().st_uid)
    assert owners == {NOBODY if os.geteuid() == 0 else os.geteuid()}


def test_an_ordinary_user_has_a_private_server_too(kind: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test here runs as an ordinary user already")
    script = OWNER.format(arguments=repr(kind), end="server.close(); print(server.folder.exists())")
    with run_python(script, uid=NOBODY) as owner:
        assert owner.stdout is not None
        folder, _ = json.loads(owner.stdout.readline())
        assert Path(folder).owner() == Path(f"/proc/{owner.pid}").owner()
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        assert owner.communicate("\n")[0].strip() == "False"
        assert owner.returncode == 0
    assert processes_of(folder) == []


def test_no_one_gets_in_without_the_password(server: PrivateServer) -> None:
    for target in (server.target, server.admin):
        for host in (target.host, str(server.place.sockets)):
            for change in ({"password_file": Path("/dev/null")}, {"password": SecretStr("wrong")}):
                with pytest.raises(CannotConnect):
                    database(target).connect(target.with_(host=host, **change))


def test_a_password_for_another_server_in_the_environment_is_not_taken(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "another")
    monkeypatch.setenv("PGPASSWORD", "another")
    monkeypatch.setenv("MYSQL_PWD", "another")
    assert answers(server)


def test_passwords_are_in_one_file_that_only_the_owner_reads(server: PrivateServer) -> None:
    assert stat.S_IMODE(server.place.password_file.stat().st_mode) == 0o600
    passwords = [password_of(target).encode() for target in (server.target, server.admin)]
    assert len(set(passwords)) == 2
    for pid in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                content = (pid / name).read_bytes()
            except OSError:
                continue
            assert not any(password in content for password in passwords), f"{pid / name} contains a password"
    for file in (path for path in server.folder.rglob("*") if path.is_file()):
        if file != server.place.password_file:
            with suppress(FileNotFoundError):  # of a server that works
                content = file.read_bytes()
                assert not any(password in content for password in passwords), f"{file} contains a password"


def test_it_listens_on_this_host_alone(server: PrivateServer) -> None:
    port = f":{server.target.port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        places = [line.split()[1] for line in Path(table).read_text().splitlines()[1:] if line.split()[3] == "0A"]
        assert [place for place in places if place.endswith(port)] == (
            ["0100007F" + port] if table[-1] == "p" else []
        )


def test_servers_of_one_host_live_side_by_side(server: PrivateServer, other: PrivateServer) -> None:
    assert other.target.port != server.target.port
    assert answers(other)
    assert answers(server)


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "os.kill(os.getpid(), 2)"])
def test_nothing_is_left_when_the_interpreter_ends(end: str) -> None:
    with run_python(OWNER.format(arguments="", end=f"import os; {end}")) as owner:
        assert owner.stdout is not None
        folder, _ = json.loads(owner.stdout.readline())
        assert processes_of(folder)
        owner.communicate("\n")
    assert not Path(folder).exists()
    assert processes_of(folder) == []


@pytest.mark.parametrize(("number", "kind"), [*zip((signal.SIGKILL, signal.SIGTERM), cycle(FRESH), strict=False)])
def test_nothing_is_left_when_the_owner_is_killed(number: signal.Signals, kind: str) -> None:
    with run_python(OWNER.format(arguments=repr(kind), end="")) as owner:
        assert owner.stdout is not None
        folder, _ = json.loads(owner.stdout.readline())
        owner.send_signal(number)
        owner.wait()
        wait_until(lambda: not processes_of(folder))
    assert not Path(folder).exists()


@pytest.mark.parametrize("end", ["", pytest.param("os.kill(os.getpid(), 9)", marks=pytest.mark.long)])
def test_a_run_in_progress_is_finished_when_the_owner_ends_and_nothing_is_left(
    tmp_path: Path, results: Path, end: str
) -> None:
    """The owner ends in order, or is killed."""
    work = own_workload.folder(tmp_path, "operations: {one: {}}", "-- name: one\nSELECT 1;")
    begin = f"""
    import hdbkit, os
    load = hdbkit.Load(virtual_users=1, rampup_s=0, duration_s=2)
    hdbkit.Workspace(results={str(results)!r}).start(server.target, {str(work)!r}, load)
    {end}"""
    with run_python(OWNER.format(arguments="", end=begin)) as owner:
        folder, _ = json.loads(owner.communicate("\n")[0])
    assert api.attach("last").wait().manifest.status.value == "done"
    wait_until(lambda: not processes_of(folder))
    assert not Path(folder).exists()


def test_nothing_is_left_when_the_owner_is_killed_while_it_makes_the_server(kind: str) -> None:
    name = f"/var/tmp/hdbkit-test-early-{os.getpid()}"
    with run_python(OWNER.format(arguments=f"{kind!r}, folder={name!r}", end="")) as owner:
        wait_until(lambda: Path(name, "data").exists())
        owner.kill()
        owner.wait()
        wait_until(lambda: not processes_of(name))
    assert not Path(name).exists()


def test_a_forked_child_does_not_end_the_servers_of_its_parent(other: PrivateServer) -> None:
    child = os.fork()
    if child == 0:
        other.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert answers(other)


def remove_frozen(server: PrivateServer) -> None:
    """Freeze all processes of a server, then remove it."""
    folder = str(server.folder)
    frozen = _guard.family(_guard.server_pid(folder, _guard.read_note(folder)) or 0)
    births = {pid: birth_of(pid) for pid in frozen}
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    server.remove()
    assert time.monotonic() - began < 100  # a frozen server is not waited for
    assert not [pid for pid, birth in births.items() if birth_of(pid) == birth]


def test_a_kept_server_runs_on_and_is_attached_started_moved_and_removed(kind: str) -> None:
    with run_python(OWNER.format(arguments=f"{kind!r}, keep=True", end="")) as owner:
        assert owner.stdout is not None
        folder, port = json.loads(owner.stdout.readline())
        owner.communicate("\n")
    kept = PrivateServer.attach(folder)
    try:
        assert kept.running
        assert kept.target.port == port
        assert answers(kept)
        with pytest.raises(InputError, match="already"):
            private_server(folder=folder).start()
        kept.stop()
        with private_server(folder=folder) as again:
            assert again.target.port == port
            assert answers(again)
        assert Path(folder).exists(), "what was kept is removed on request alone"
        assert not kept.running
        with socket.create_server(("127.0.0.1", port)), private_server(folder=folder) as moved:
            assert moved.target.port != port
            assert answers(moved)
        with moved.settings_file.open("a") as file:
            file.write("no_such_setting = 1\n")
        broken = private_server(folder=folder)
        with pytest.raises(ServerFailed, match="no_such_setting"):
            broken.start()
        broken.close()  # as the interpreter's end does
        moved.settings_file.write_text("")
        remove_frozen(PrivateServer.attach(folder).start())
    finally:
        kept.remove()
    assert not Path(folder).exists()


def test_attaching_owns_nothing(server: PrivateServer) -> None:
    with PrivateServer.attach(server.folder) as other:
        assert other.target == server.target
    assert answers(server)
    with pytest.raises(InputError, match="not the folder of a private server"):
        PrivateServer.attach("/var/tmp")


def test_a_server_in_a_deep_folder_has_a_socket_and_the_settings_of_the_beginning(kind: str) -> None:
    """These are changes, and nothing else is."""
    names = NAMES[kind]
    deep = Path("/var/tmp") / f"hdbkit-test-{os.getpid()}-{'deep' * 20}"
    with private_server(kind, folder=deep, settings=names.settings) as server:
        session = database(kind).connect(server.target)
        settings = database(kind).settings_of(session)
        session.close()
        sockets = server.place.sockets
        assert len(str(sockets)) < 100
        assert sockets.exists()
    assert not deep.exists()
    assert not sockets.exists()
    assert {name: settings[name]["value"] for name in names.read} == names.read
    changed = {name for name, about in settings.items() if about["changed"]}
    assert names.read.keys() <= changed
    assert changed <= names.read.keys() | names.changed
    assert len(settings) > 300, "every setting is kept, changed or not"


def test_a_server_that_does_not_start_reports_its_log_and_leaves_nothing(kind: str) -> None:
    folder = Path(f"/var/tmp/hdbkit-test-bad-{os.getpid()}")
    with pytest.raises(ServerFailed, match=NAMES[kind].wrong):
        private_server(kind, folder=folder, settings={NAMES[kind].wrong: "1"}).start()
    assert not folder.exists()
    assert processes_of(folder) == []


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(InputError, match="not an empty folder"):
        private_server(folder=tmp_path).start()
    assert (tmp_path / "mine").read_text() == "precious"


def test_binaries_in_a_private_home_are_copied_to_where_the_server_may_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's server runs as that user")
    wheel = next((one for one in ALL_BINARIES if one.source == "wheel"), None)
    if wheel is None:
        pytest.skip("installed binaries cannot be moved; pip install 'hdbkit[private]' gives some that can")
    package = wheel.folder.parents[1]
    home = tmp_path / package.name / wheel.folder.parent.name
    shutil.copytree(wheel.folder.parent, home, symlinks=True)
    shutil.copytree(f"{package}.libs", tmp_path / f"{package.name}.libs")
    tmp_path.chmod(0o700)
    copies = Path(tempfile.mkdtemp(prefix="hdbkit-test-", dir="/var/tmp"))
    copies.chmod(0o755)
    (copies / ".unfinished-killed").mkdir()
    monkeypatch.setattr("hdbkit.servers.place.COPIES", copies)
    try:
        for _ in range(2):
            with private_server(source=str(home)) as server:
                assert answers(server)
                assert server.place.binaries.is_relative_to(copies)
        assert len(list(copies.iterdir())) == 1
    finally:
        shutil.rmtree(copies)


def test_binaries_that_are_not_there_are_reported_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"99.*found: .*pip install"):
        private_server(version="99")
    with pytest.raises(InputError, match="nosuch"):
        private_server("nosuch")


def test_an_account_without_a_name_or_a_home_as_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    assert database("postgresql").password_source(Target(kind="postgresql", host="db1")) is None
    assert (cache_folder(), state_folder()) == (Path("/.cache/hdbkit"), Path("/.local/state/hdbkit"))
    if "postgresql" in KINDS:
        with pytest.raises(ServerFailed, match=r"account \d+ has none; add one to /etc/passwd, such as bench:x:\d+"):
            private_server("postgresql").start()
