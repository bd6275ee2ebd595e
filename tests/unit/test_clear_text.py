"""A server that is not the one that was meant gets no password that it can read, and no file of the client's host."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hdbkit.config import ControlSpec, Target
from hdbkit.databases import database
from hdbkit.databases._base.listener import account_behind
from hdbkit.databases.postgresql.connect import _accepted_methods
from hdbkit.errors import CannotConnect, HdbkitError, NoneFree, NotReady
from hdbkit.servers.agent_client import AgentClient

SECRET = "topsecret"
OTHER = 65534
_SETRESUID = {"x86_64": 117, "aarch64": 147}.get(platform.machine(), 0)
"""The number of the system call, which concerns one thread; that of the C library concerns all."""
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not _SETRESUID, reason="only root can act as another account")
SALT = b"abcdefghijklmnopqrst"
Talk = Callable[["Peer"], None]


class Peer:
    """The client of a fake server, and all that it has sent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.sent = b""

    def read(self, size: int) -> bytes:
        found = b""
        while len(found) < size and (more := self._connection.recv(size - len(found))):
            found += more
        self.sent += found
        if len(found) < size:
            raise EOFError
        return found

    def write(self, content: bytes) -> None:
        self._connection.sendall(content)

    def packet(self) -> tuple[int, bytes]:
        """A packet of MySQL: its number and content."""
        head = self.read(4)
        return head[3], self.read(int.from_bytes(head[:3], "little"))

    def leave(self) -> None:
        """End the connection, though the client may still keep it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def answer(self, number: int, content: bytes) -> None:
        self.write(len(content).to_bytes(3, "little") + bytes([number]) + content)


def _listening(path: Path | None) -> socket.socket:
    if path is None:
        return socket.create_server(("127.0.0.1", 0))
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made


def _become(account: int) -> None:
    """Have this thread alone act as another account, as the kernel sees it."""
    assert ctypes.CDLL(None, use_errno=True).syscall(_SETRESUID, -1, account, -1) == 0


@contextlib.contextmanager
def fake(talk: Talk, path: Path | None = None, account: int | None = None) -> Iterator[tuple[int, list[Peer]]]:
    """The port of a server, or with a path its socket there, and the clients that came; it runs as ``account``."""
    peers: list[Peer] = []
    ready = threading.Event()
    threads: list[threading.Thread] = []

    def begin(do: Callable[..., None], *what: socket.socket) -> None:
        threads.append(threading.Thread(target=do, args=what))
        threads[-1].start()

    def serve() -> None:
        if account is not None:
            _become(account)
            made.append(_listening(path))
        ready.set()
        with contextlib.suppress(OSError):
            while True:
                begin(attend, made[0].accept()[0])

    def attend(connection: socket.socket) -> None:
        with connection, contextlib.suppress(EOFError, OSError):
            connection.settimeout(20)
            peers.append(Peer(connection))
            talk(peers[-1])

    made = [_listening(path)] if account is None else []
    begin(serve)
    assert ready.wait(20)
    with made[0] as listening:
        try:
            yield 0 if path else listening.getsockname()[1], peers
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            threads[0].join()  # which begins the others
            for peer in peers:
                peer.leave()
            for thread in threads:
                thread.join()


def asks_postgresql(peer: Peer) -> None:
    """The request for a password in clear text."""
    (size,) = struct.unpack("!i", peer.read(4))
    if peer.read(size - 4)[:4] == struct.pack("!i", 80877103):
        peer.write(b"N")  # no TLS
        (size,) = struct.unpack("!i", peer.read(4))
        peer.read(size - 4)
    peer.write(b"R" + struct.pack("!ii", 8, 3))
    peer.read(1 + 4 + len(SECRET))


def refuses_in_german(state: bytes) -> Talk:
    def talk(peer: Peer) -> None:
        (size,) = struct.unpack("!i", peer.read(4))
        if peer.read(size - 4)[:4] == struct.pack("!i", 80877103):
            peer.write(b"N")
            (size,) = struct.unpack("!i", peer.read(4))
            peer.read(size - 4)
        fields = b"SFATAL\0VFATAL\0C%b\0MDas Datenbanksystem ist nicht bereit\0\0" % state
        peer.write(b"E" + struct.pack("!i", 4 + len(fields)) + fields)

    return talk


def _greeting(method: bytes) -> bytes:
    capabilities = struct.pack("<I", 0x81BFF7FF & ~0x800)  # no TLS
    head = b"\x0a8.0.36\0" + struct.pack("<I", 7) + SALT[:8] + b"\0" + capabilities[:2] + b"\x21\x02\0"
    return head + capabilities[2:] + b"\x15" + bytes(10) + SALT[8:] + b"\0" + method + b"\0"


def asks_mysql(method: bytes, first: bytes = b"mysql_native_password") -> Talk:
    """The switch to another method of login."""

    def talk(peer: Peer) -> None:
        peer.answer(0, _greeting(first))
        number, _ = peer.packet()
        data = b"\x02Password: \0" if method == b"dialog" else SALT + b"\0"
        peer.answer(number + 1, b"\xfe" + method + b"\0" + data)
        number, _ = peer.packet()
        if method == b"caching_sha2_password":
            peer.answer(number + 1, b"\x01\x04")  # it wants the whole password
            number, asked = peer.packet()
            assert asked != b"\x02", "the client asks for the server's public key"

    return talk


def target(kind: str, port: int, **options: str) -> Target:
    return Target(kind=kind, host="127.0.0.1", port=port, user="bench", database="x", options=options)


def test_postgresql_gives_no_password_in_clear_text_unless_that_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)
    with fake(asks_postgresql) as (port, peers):
        with pytest.raises(CannotConnect, match="asks for the password in clear text; set the option sslmode"):
            database(target("postgresql", port)).connect(target("postgresql", port))
        assert not any(SECRET.encode() in one.sent for one in peers)
        permitted = target("postgresql", port, require_auth="password")
        with pytest.raises(CannotConnect):
            database(permitted).connect(permitted)
    assert any(SECRET.encode() in one.sent for one in peers)


@pytest.mark.parametrize(("state", "error"), [(b"57P03", NotReady), (b"53300", NoneFree), (b"28000", CannotConnect)])
def test_a_refusal_of_postgresql_in_another_language_is_known_by_its_code(
    state: bytes, error: type[CannotConnect]
) -> None:
    with fake(refuses_in_german(state)) as (port, _), pytest.raises(CannotConnect) as caught:
        database("postgresql").connect(target("postgresql", port))
    assert type(caught.value) is error


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
@pytest.mark.parametrize("method", [b"mysql_clear_password", b"dialog", b"caching_sha2_password", b"sha256_password"])
def test_mysql_gives_no_password_that_the_server_can_read(
    kind: str, method: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)
    for first in (b"mysql_native_password", method):
        with fake(asks_mysql(method, first)) as (port, peers):
            with pytest.raises(
                CannotConnect, match="in a form that it can read without TLS; set the option ssl_mode"
            ):
                database(target(kind, port)).connect(target(kind, port))
            assert peers
            assert not any(SECRET.encode() in one.sent or one.sent.endswith((b"\x02", b"\x01")) for one in peers)


def test_mysql_gives_the_password_by_the_method_that_the_target_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)
    with fake(asks_mysql(b"mysql_clear_password")) as (port, peers):
        permitted = target("mysql", port, auth_plugin="mysql_clear_password")
        with pytest.raises(CannotConnect):
            database(permitted).connect(permitted)
    assert SECRET.encode() in peers[-1].sent


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which any account can make files."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@AS_ROOT
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_mysql_gives_no_readable_password_to_a_socket_at_which_another_account_listens(
    kind: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)
    path = shared / "a.sock"
    for account, options, gets_it in (
        (None, {}, True),  # root, which could read the password anyhow
        (OTHER, {}, False),
        (OTHER, {"ssl_mode": "REQUIRED"}, False),
        (OTHER, {"requirepeer": "nobody"}, True),
        (OTHER, {"requirepeer": str(OTHER)}, True),
        (OTHER, {"requirepeer": "daemon"}, False),
        (None, {"requirepeer": "nobody"}, False),
    ):
        path.unlink(missing_ok=True)
        at = Target(kind=kind, host=str(path), user="bench", database="x", options=options)
        with fake(asks_mysql(b"mysql_clear_password"), path, account) as (_, peers):
            with pytest.raises(CannotConnect) as caught:
                database(at).connect(at)
            assert any(SECRET.encode() in one.sent for one in peers) is gets_it, options
        if account and not gets_it and "ssl_mode" not in options:
            assert "the account nobody of this host listens there" in str(caught.value)
            assert "set the option requirepeer of the target to nobody" in str(caught.value)


@AS_ROOT
def test_redis_gives_no_password_to_another_account_that_listens_on_this_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)

    def talk(peer: Peer) -> None:
        for _ in range(40):
            peer.read(1)
        peer.write(b"-WRONGPASS invalid username-password pair\r\n")

    for account, options, gets_it in (
        (None, {}, True),
        (OTHER, {}, False),
        (OTHER, {"tls": "off"}, False),
        (OTHER, {"requirepeer": "nobody"}, True),
        (None, {"requirepeer": "nobody"}, False),
    ):
        with fake(talk, account=account) as (port, peers):
            for host in ("127.0.0.1", "localhost"):
                at = target("redis", port, **options).with_(host=host, database=None)
                with pytest.raises(CannotConnect) as caught:
                    database(at).connect(at)
                assert any(SECRET.encode() in one.sent for one in peers) is gets_it, options
        if account and not gets_it:
            assert "the account nobody of this host listens there, which is none that runs" in str(caught.value)


@AS_ROOT
def test_the_token_of_an_agent_goes_to_no_other_account_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_AGENT_TOKEN", SECRET)

    def talk(peer: Peer) -> None:
        while not peer.sent.endswith(b"\r\n\r\n"):
            peer.read(1)
        peer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    for account, stated, gets_it in ((None, None, True), (OTHER, None, False), (OTHER, "nobody", True)):
        with fake(talk, account=account) as (port, peers):
            client = AgentClient(ControlSpec(agent=f"http://127.0.0.1:{port}", agent_account=stated))
            if gets_it:
                assert client.get("ping") == {}
            else:
                with pytest.raises(CannotConnect, match="set 'agent_account: nobody' in the target's 'control'"):
                    client.get("ping")
            assert any(SECRET.encode() in one.sent for one in peers) is gets_it


@AS_ROOT
def test_who_listens_is_known_before_and_after_a_connection_is_accepted() -> None:
    kept: list[socket.socket] = []
    steps = [threading.Event() for _ in range(3)]

    def listen() -> None:
        _become(OTHER)
        kept.append(socket.create_server(("127.0.0.1", 0)))
        kept.append(socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True))
        steps[0].set()
        steps[1].wait(20)
        kept.extend([one.accept()[0] for one in kept])
        for one in kept[:2]:
            one.close()
        steps[2].set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert steps[0].wait(20)
    clients = [socket.create_connection(("127.0.0.1", one.getsockname()[1])) for one in list(kept)]
    try:
        assert [account_behind(one) for one in clients] == [OTHER, OTHER], "nobody has accepted them yet"
        steps[1].set()
        assert steps[2].wait(20)
        assert [account_behind(one) for one in clients] == [OTHER, OTHER], "nobody listens any more"
    finally:
        steps[1].set()
        thread.join()
        for one in (*clients, *kept):
            one.close()


def test_postgresql_gives_no_password_in_clear_text_at_a_socket_where_libpq_uses_no_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PGREQUIREAUTH", raising=False)
    for host, options, permitted in (
        ("/tmp", {"sslmode": "require"}, False),
        (None, {"sslmode": "verify-full"}, False),
        ("/tmp", {"requirepeer": "postgres"}, True),
        ("db1", {"sslmode": "require"}, True),
        ("db1", {"requirepeer": "postgres"}, False),
    ):
        at = Target(kind="postgresql", host=host, user="bench", options=options)
        assert (_accepted_methods(at) is None) is permitted


def test_mysql_sends_no_file_that_the_server_asks_for() -> None:
    asked: list[bytes] = []

    def talk(peer: Peer) -> None:
        peer.answer(0, _greeting(b"mysql_native_password"))
        number, _ = peer.packet()
        peer.answer(number + 1, b"\0\0\0\x02\0\0\0")
        while True:
            number, statement = peer.packet()
            asked.append(statement)
            peer.answer(number + 1, b"\xfb/etc/passwd")

    with fake(talk) as (port, peers), pytest.raises(HdbkitError, match="forbidden"):
        database(target("mysql", port)).connect(target("mysql", port))
    assert asked
    assert not any(b"root:" in one.sent for one in peers)


def test_redis_gives_no_password_to_another_host_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", SECRET)
    elsewhere = Target(kind="redis", host="db1.invalid", user="bench")
    with pytest.raises(CannotConnect, match="would be sent to another host in clear text; set the option tls"):
        database(elsewhere).connect(elsewhere)
    permitted = elsewhere.with_(options={"tls": "off"})
    with pytest.raises(CannotConnect, match="db1"):
        database(permitted).connect(permitted)
