"""Servers reached through mysqlclient: TLS, sockets, forbidden loads, small packets, multiple result sets."""

from __future__ import annotations

import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Isolation, Load, Target, TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.contracts import Access, Scope, SessionOptions, Table
from hdbkit.databases import database
from hdbkit.databases._mysqlclient.database import MysqlclientDatabase, proxy_named, shared_by
from hdbkit.errors import CannotConnect, ErrorClass, InputError, NoAccess, TransactionError
from hdbkit.loading import build
from hdbkit.readings import PoolMode, ServerRole
from hdbkit.servers import PrivateServer, private_server
from hdbkit.sql import lexer_of, made, statements
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES
from tests.conftest import login_options

KINDS = ["mariadb", "mysql"]
SLEEPING = b"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'"
ISOLATION = b"SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"
PARTS = b"SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE PARTITION_NAME IS NOT NULL"
PAUSE = b"CALL pause();SELECT 1"
ITEM, HISTORY = TPROC_C_TABLES["item"], TPROC_C_TABLES["history"]
WORD = "word-of-ours"
Sessions = Callable[..., Any]


@pytest.fixture(scope="module")
def certificates() -> Iterator[Path]:
    """An authority, and what it signed for the server (127.0.0.1) and for a client."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: the tests on TLS are skipped")
    folder = Path(tempfile.mkdtemp(prefix="hdbkit-tls-"))
    folder.chmod(0o755)

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    for name in ("ca", "other-ca"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", "/CN=hdbkit")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN=hdbkit {name}")
        folder.joinpath("names").write_text("subjectAltName=IP:127.0.0.1\n")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-out", f"{name}.pem")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed)
    authorities = folder / "authorities"
    authorities.mkdir()
    shutil.copy(folder / "ca.pem", authorities)
    openssl("rehash", str(authorities))
    for file in folder.glob("*.*"):
        file.chmod(0o644)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, certificates: Path) -> Iterator[PrivateServer]:
    tls = {"ca": "ca.pem", "cert": "server.pem", "key": "server.key"}
    settings = {f"ssl_{name}": str(certificates / file) for name, file in tls.items()}
    try:
        database(request.param).driver_version()
        started = private_server(request.param, settings=settings)
    except InputError as error:
        pytest.skip(f"no server: {error}")
    with started:
        session = _session(started.target)
        for table in ("item", "customer", "district", "new_order"):
            session.query(f"create_{table}")
        session.query("create_routine_delivery")
        session.execute("CREATE PROCEDURE both_sets() BEGIN SELECT 1, 2; SELECT 3; SELECT 4; END")
        session.execute("CREATE PROCEDURE pause() BEGIN DO SLEEP(20); END")
        session.close()
        yield started


@pytest.fixture
def connect(server: PrivateServer) -> Iterator[Sessions]:
    """Makes sessions, which are closed at the end of the test."""
    made: list[Any] = []

    def session(target: Target | None = None) -> Any:
        made.append(_session(target or server.target))
        return made[-1]

    yield session
    for one in made:
        one.close()


@pytest.fixture
def admin(server: PrivateServer) -> Iterator[Any]:
    """The administrator's session; what tests set is set back."""
    session = _session(server.admin)
    limits = ("sql_select_limit", "sql_safe_updates", "group_concat_max_len")
    names = (
        "local_infile",
        "max_allowed_packet",
        "max_connections",
        "max_prepared_stmt_count",
        "sql_mode",
        *limits,
        "default_storage_engine",
        "completion_type",
    )
    session.execute("SET " + ", ".join(f"@{name} = @@GLOBAL.{name}" for name in names))
    yield session
    session.execute("SET " + ", ".join(f"GLOBAL {name} = @{name}" for name in names))
    session.execute("DELETE FROM item")
    session.close()


def _session(target: Target) -> Any:
    """A session that can load."""
    engine: Any = database(target)
    return engine.loading_session(engine.connect(target, scope(target)), target, scope(target))


def scope(target: Target) -> Scope:
    return workload(TprocCSpec()).scope(database(target).dialects)


def refused(work: Callable[..., Any], *arguments: Any) -> ErrorClass:
    with pytest.raises(TransactionError) as met:
        work(*arguments)
    return met.value.error_class


def end_others(server: PrivateServer, admin: Any) -> None:
    """End every session of the database but this one, and what it still does."""
    for (command,) in admin.query("end_other_sessions", database_name=server.target.database):
        with suppress(TransactionError):
            admin.execute(command)


def with_options(target: Target, **options: Any) -> Target:
    return target.with_(options={name: str(value) for name, value in options.items()})


def test_one_way_tls_holds_the_server_to_its_authority(
    server: PrivateServer, admin: Any, connect: Sessions, certificates: Path
) -> None:
    admin.execute(f"ALTER USER '{server.target.user}'@'localhost' REQUIRE SSL")
    try:
        for mode in ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
            target = with_options(server.target, ssl_mode=mode, ssl_ca=certificates / "ca.pem")
            assert connect(target).query("server_version")
        with pytest.raises(CannotConnect, match=r"authority that signed the server.s certificate is not trusted"):
            connect(with_options(server.target, ssl_mode="VERIFY_CA", ssl_ca=certificates / "other-ca.pem"))
        by_folder = connect(
            with_options(server.target, ssl_mode="VERIFY_CA", ssl_capath=certificates / "authorities")
        )
        ((_, cipher),) = by_folder.rows(by_folder.perform(b"SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
        assert cipher
    finally:
        admin.execute(f"ALTER USER '{server.target.user}'@'localhost' REQUIRE NONE")


def test_two_way_tls_asks_the_client_for_its_certificate(
    server: PrivateServer, admin: Any, connect: Sessions, certificates: Path
) -> None:
    admin.execute(f"ALTER USER '{server.target.user}'@'localhost' REQUIRE X509")
    one_way: dict[str, Any] = {"ssl_mode": "VERIFY_CA", "ssl_ca": certificates / "ca.pem"}
    own = {"ssl_cert": certificates / "client.pem", "ssl_key": certificates / "client.key"}
    try:
        assert connect(with_options(server.target, **one_way, **own)).query("server_version")
        with pytest.raises(CannotConnect):
            connect(with_options(server.target, **one_way))
    finally:
        admin.execute(f"ALTER USER '{server.target.user}'@'localhost' REQUIRE NONE")


def test_a_socket_is_a_host_that_begins_with_a_slash_its_folder_or_an_option(
    server: PrivateServer, admin: Any, connect: Sessions
) -> None:
    (path,) = server.folder.rglob("*.sock")
    for place in ({"host": str(path)}, {"host": str(path.parent)}, {"host": None, "options": {"socket": str(path)}}):
        assert connect(server.target.with_(port=None, **place)).query("server_version")


def test_an_unknown_option_is_reported_with_the_nearest_known(server: PrivateServer, connect: Sessions) -> None:
    with pytest.raises(InputError, match=r"unknown option 'ssl_cat'; known: .* Did you mean 'ssl_ca'"):
        connect(with_options(server.target, ssl_cat="x"))


def test_where_the_server_forbids_loads_rows_go_in_by_insert_and_that_is_reported(
    server: PrivateServer, admin: Any, connect: Sessions
) -> None:
    rows = [b"1\t\\N\tit's a \\\\ \xc3\xa9\t1.25\tdata\n2\t7\tO''Neil\t2.25\t\n", b"3\t7\tx\\ty\t3.25\tdata\n"]
    rows.append(b"4\t7\t\\r\t4.25\ta\\rb\\r\\n\n")
    session, found = connect(), []
    for local_infile in ("ON", "OFF"):
        admin.execute(f"SET GLOBAL local_infile = {local_infile}")
        session = connect()
        slow = database(server.target).slow_load(session)
        assert slow is None if local_infile == "ON" else "set local_infile=ON" in str(slow)
        session.begin()
        assert refused(session.load, ITEM, rows) is ErrorClass.CONSTRAINT  # i_im_id is no null
        session.begin()
        assert session.load(ITEM, [row.replace(rb"\N", b"7") for row in rows]) == 4
        found.append(session.query("content_item"))
        session.rollback()
    assert found[0] == found[1]
    assert found[0][0] == (1, 7, "it's a \\ é", Decimal("1.25"), "data")
    assert found[0][2][2] == "x\ty"
    assert (found[0][3][2], found[0][3][4]) == ("\r", "a\rb\r\n")


@pytest.mark.parametrize("local_infile", ["ON", "OFF"])
def test_a_table_without_space_for_a_load_is_reported(admin: Any, connect: Sessions, local_infile: str) -> None:
    admin.execute(f"SET GLOBAL local_infile = {local_infile}")
    session = connect()
    session.execute("SET max_heap_table_size = 16384")
    session.execute("CREATE TEMPORARY TABLE small (word VARCHAR(1000)) ENGINE = MEMORY")
    session.begin()
    with pytest.raises(TransactionError, match="The table 'small' is full") as met:
        session.load(Table("small", ("word",)), [b"word\n" * 1000])
    assert met.value.error_class is ErrorClass.RESOURCES
    assert session.query("count_item") == [(0,)], "the session goes on"


SORTED = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
    "SELECT i, RPAD(i, 500, 'x') AS text FROM n ORDER BY text"
)
"""It sorts half a megabyte."""


def test_a_query_that_fills_the_temporary_space_lacks_resources(server: PrivateServer, connect: Sessions) -> None:
    session, place = connect(), server.place.folder / "tmp"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", place], check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    try:
        session.execute("SET sort_buffer_size = 32768")
        with pytest.raises(TransactionError, match=r"resources \(3\): Error writing file .*No space left on device"):
            session.execute(SORTED)
    finally:
        subprocess.run(["umount", "-l", place], check=True)
    session.execute(SORTED)


@pytest.mark.parametrize("local_infile", ["ON", "OFF"])
def test_a_packet_that_is_too_large_is_refused_before_it_is_sent(
    admin: Any, connect: Sessions, local_infile: str
) -> None:
    admin.execute(f"SET GLOBAL max_allowed_packet = 4096, GLOBAL local_infile = {local_infile}")
    session = connect()
    session.begin()
    with pytest.raises(TransactionError, match=r"larger than the server's max_allowed_packet \(4096\)") as met:
        session.batch([("client_select_named", (1, 1, "x" * 100))] * 100)
    assert met.value.error_class is ErrorClass.RESOURCES
    session.begin()
    rows = b"".join(b"%d\t1\tname\t1.00\t%b\n" % (i, b"d" * 50) for i in range(200))
    assert session.load(ITEM, [rows]) == 200  # in packets that fit
    session.commit()
    assert session.query("count_item") == [(200,)]


@pytest.mark.parametrize("mode", ["", "ANSI,NO_BACKSLASH_ESCAPES", "TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH"])
def test_the_servers_sql_mode_changes_nothing(admin: Any, connect: Sessions, mode: str) -> None:
    admin.execute(f"SET GLOBAL sql_mode = '{mode}'")
    session = connect()
    session.begin()
    name = "a\\b'\"c"
    assert session.call("client_select_named", 1, 1, name) == []
    session.load(ITEM, [rb"1	1	a\\b'\"c	1.00	d" + b"\n"])
    assert session.query("content_item")[0][2] == name
    session.commit()
    session.begin()
    too_long = b"2\t1\t%b\t1.00\td\n" % (b"x" * 25)
    assert refused(session.load, ITEM, [too_long]) is ErrorClass.OTHER
    assert session.query("count_item") == [(1,)]


@pytest.mark.parametrize(("mode", "answer"), [(None, "ab"), ("server", 0), ("PIPES_AS_CONCAT", "ab"), ("", 0)])
def test_the_sql_of_users_has_the_mode_of_the_server_or_their_own(
    server: PrivateServer, admin: Any, mode: str | None, answer: object
) -> None:
    """``||`` is OR, and a date may be zero, unless the mode says otherwise."""
    admin.execute("SET GLOBAL sql_mode = ''")
    own = replace(scope(server.target), sql_mode=mode)
    with closing(database(server.target).connect(server.target, own)) as one:
        session: Any = one
        assert session.rows(session.perform(b"SELECT 'a' || 'b'")) == [(answer,)]
        session.execute("CREATE TEMPORARY TABLE days (d DATE)")
        try:
            session.execute("INSERT INTO days VALUES ('0000-00-00')")
        except TransactionError:
            assert mode is None
        else:
            assert mode is not None


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("ANSI_QUOTES", "SELECT \"\\\" FROM (SELECT '\\\\' AS \"\\\") AS a WHERE ':no' <> :word"),
        ("", "SELECT '\\\\', :word, '\\':no' -- :no"),
    ],
)
def test_a_text_is_read_by_the_mode_of_its_session(server: PrivateServer, mode: str, text: str) -> None:
    lexer = lexer_of(database(server.target).dialects)
    read = {"read": made("read", text, Path("own.sql"), lexer)}
    own = replace(scope(server.target), statements=read, sql_mode=mode)
    with closing(database(server.target).connect(server.target, own)) as session:
        session.prepare(["read"])
        (row,) = session.rows(session.perform(session.bind("read", ("a\\'b",))))
    assert row[0] == "\\"
    assert "a\\'b" in row or len(row) == 1


def test_the_servers_defaults_do_not_change_the_sql_of_hdbkit(server: PrivateServer, admin: Any) -> None:
    admin.execute("SET GLOBAL sql_select_limit = 1, sql_safe_updates = 1, default_storage_engine = MyISAM")
    admin.execute("SET GLOBAL completion_type = 2, group_concat_max_len = 4")
    admin.execute("SET GLOBAL TRANSACTION READ ONLY")
    try:
        with closing(database(server.target).connect(server.target, scope(server.target))) as one:
            session: Any = one
            session.execute("CREATE TABLE defaults (n INTEGER)")
            session.begin()
            session.execute("INSERT INTO defaults VALUES (1), (2)")
            session.rollback()
            session.begin()
            session.execute("INSERT INTO defaults VALUES (3), (4)")
            session.commit()
            session.execute("UPDATE defaults SET n = n + 1")
            assert session.rows(session.perform(b"SELECT n FROM defaults ORDER BY n")) == [(4,), (5,)]
            assert session.rows(session.perform(b"SELECT GROUP_CONCAT(n * 1000) FROM defaults")) == [("4000,5000",)]
            session.execute("DROP TABLE defaults")
    finally:
        admin.execute("SET GLOBAL TRANSACTION READ WRITE")


def test_a_mode_that_changes_texts_is_refused_for_the_sql_of_users(server: PrivateServer, admin: Any) -> None:
    admin.execute("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES'")
    own = replace(scope(server.target), sql_mode="server")
    with pytest.raises(CannotConnect, match=r"contains NO_BACKSLASH_ESCAPES.*set sql_mode in workload\.yaml"):
        database(server.target).connect(server.target, own)


def test_a_server_that_hides_conditions_is_refused_for_routines_alone_and_hides_no_row(
    server: PrivateServer, admin: Any, connect: Sessions
) -> None:
    admin.execute("SET GLOBAL max_error_count = 0")
    try:
        with pytest.raises(CannotConnect, match=r"max_error_count is 0.*SET GLOBAL max_error_count = 64"):
            connect()
        few = replace(scope(server.target), statements={"count_item": scope(server.target).statements["count_item"]})
        engine = database(server.target)
        with closing(engine.loading_session(engine.connect(server.target, few), server.target, few)) as session:
            session.begin()
            too_long = b"2\t1\t%b\t1.00\td\n" % (b"x" * 25)
            assert refused(session.load, ITEM, [too_long]) is ErrorClass.OTHER
    finally:
        admin.execute("SET GLOBAL max_error_count = 64")


def test_client_statements_are_prepared_where_an_execution_takes_values(
    server: PrivateServer, connect: Sessions
) -> None:
    session = connect()
    session.begin()
    assert [session.call("client_select_named", 1, 1, "it's") for _ in range(3)] == [[]] * 3
    session.commit()
    ((_, executed),) = session.rows(session.perform(b"SHOW SESSION STATUS LIKE 'Com_execute_sql'"))
    able = "execute_with_values" in statements(database(server.target).dialects, "server")
    assert int(executed) == (3 if able else 0)


def test_routines_calls_are_prepared_on_request_and_answer_alike(server: PrivateServer, connect: Sessions) -> None:
    """With compression the answer comes through the driver."""
    for prepared, more in (("off", {}), ("on", {}), ("off", {"compress": "on"})):
        session = connect(with_options(server.target, prepared=prepared, **more))
        session.prepare(["call_delivery"])
        assert session.rows(session.perform(session.bind("call_delivery", (1, 5)))) == [((), ())]
        ((_, executed),) = session.rows(session.perform(b"SHOW SESSION STATUS LIKE 'Com_execute_sql'"))
        assert int(executed) == (prepared == "on")


def test_elements_of_an_array_are_values_of_their_own(server: PrivateServer, connect: Sessions) -> None:
    """``:numbers[3]`` is three values, NULL where the array ends before, also in a call that the server prepares."""
    connect().execute(
        "CREATE PROCEDURE numbered(a INT, b INT, c INT, d TEXT, e TEXT, OUT words TEXT) "
        "SET words = CONCAT_WS('/', COALESCE(a, 'none'), COALESCE(b, 'none'), COALESCE(c, 'none'), d, "
        "REPLACE(e, ' ', ''))"
    )
    text = "CALL numbered(:numbers[3], :word, :numbers, @words); SELECT @words"
    own = replace(scope(server.target), statements={"numbered": made("numbered", text, Path("numbered.sql"))})
    for prepared in ("off", "on"):
        target = with_options(server.target, prepared=prepared)
        with closing(database(target).connect(target, own)) as session:
            session.prepare(["numbered"])
            for numbers, shown in (((7,), "7/none/none"), ((7, 8, 9, 10), "7/8/9"), ((), "none/none/none")):
                answer = session.rows(session.perform(session.bind("numbered", (numbers, "it's 100 %"))))
                assert answer == [(f"{shown}/it's 100 %/{list(numbers)}".replace(", ", ","),)]
            with pytest.raises(TypeError):
                session.bind("numbered", (("1); DROP TABLE item; --",), "x"))
    connect().execute("DROP PROCEDURE numbered")


@pytest.mark.parametrize("level", Isolation)
def test_every_level_of_isolation_is_the_sessions(server: PrivateServer, level: Isolation) -> None:
    """MariaDB 10.11 and MySQL 8 know it by different names."""
    session: Any = database(server.target).connect(server.target, scope(server.target), SessionOptions(level))
    ((_, reported),) = session.rows(session.perform(ISOLATION))
    assert reported == level.replace("_", "-").upper()
    session.close()


def test_an_answer_that_comes_compressed_is_the_same(server: PrivateServer, connect: Sessions) -> None:
    session = connect(with_options(server.target, compress="on", init_command="SET @greeting = 7"))
    assert session.rows(session.perform(b"SHOW SESSION STATUS LIKE 'Compression'")) == [("Compression", "ON")]
    assert session.rows(session.perform(b"SELECT @greeting")) == [(7,)]
    assert session.query("count_item") == [(0,)]
    plain = connect(with_options(server.target, compress="off"))
    assert plain.rows(plain.perform(b"SHOW SESSION STATUS LIKE 'Compression'")) == [("Compression", "OFF")]


def test_a_target_may_forbid_loads_from_the_client(server: PrivateServer, admin: Any, connect: Sessions) -> None:
    admin.execute("SET GLOBAL local_infile = ON")
    session = connect(with_options(server.target, local_infile="off"))
    assert database(server.target).slow_load(session)
    session.begin()
    assert session.load(ITEM, [b"1\t7\tname\t1.25\tdata\n"]) == 1
    session.rollback()


def test_results_that_no_one_asked_for_are_read_and_dropped(connect: Sessions) -> None:
    """Or the next answer would be the last one's."""
    session = connect()
    for _ in range(3):
        assert session.rows(session.perform(b"CALL both_sets()")) == [(1, 2)]
        session.execute("CALL both_sets()")
        assert session.query("count_item") == [(0,)]
        session.begin()
        assert session.batch([("count_item", ())] * 2) == [[(0,)]] * 2
        session.commit()


@pytest.mark.parametrize("text", [b"SELECT SLEEP(0.5); SELECT 1", PAUSE], ids=["statements", "call"])
def test_a_session_that_was_broken_off_is_lost_and_never_out_of_step(
    server: PrivateServer, admin: Any, connect: Sessions, text: bytes
) -> None:
    session = connect()

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            session.perform(text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert refused(session.query, "count_item") is ErrorClass.CONNECTION_LOST
    end_others(server, admin)


def test_a_server_that_goes_in_a_call_is_a_lost_one(server: PrivateServer, admin: Any, connect: Sessions) -> None:
    session = connect()
    with ThreadPoolExecutor() as pool:
        calling = pool.submit(refused, session.perform, b"CALL pause()")
        while admin.rows(admin.perform(SLEEPING)) != [(1,)]:
            time.sleep(0.02)
        end_others(server, admin)
        assert calling.result(timeout=120) is ErrorClass.CONNECTION_LOST
    assert refused(session.query, "count_item") is ErrorClass.CONNECTION_LOST


def test_a_server_that_is_killed_during_a_call_is_a_lost_connection_for_all(
    server: PrivateServer, connect: Sessions
) -> None:
    session, watcher = connect(), connect()
    try:
        with ThreadPoolExecutor() as pool:
            calling = pool.submit(refused, session.perform, PAUSE)
            while watcher.rows(watcher.perform(SLEEPING)) != [(1,)]:
                time.sleep(0.02)
            server.kill()
            assert calling.result(timeout=120) is ErrorClass.CONNECTION_LOST
        assert refused(watcher.query, "count_item") is ErrorClass.CONNECTION_LOST
        with pytest.raises(CannotConnect, match=r"nothing listens on|closed the connection"):
            connect()
    finally:
        server.start()
    assert connect().query("count_item") == [(0,)]


def test_a_connection_that_ends_while_it_is_made_is_distinguished_from_one_that_gets_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as pool:
        place = f"mariadb://somebody@127.0.0.1:{listener.getsockname()[1]}/x"
        connecting = pool.submit(_session, Target.parse(place))
        accepted, _ = listener.accept()
        time.sleep(0.1)  # until the client waits for the first word
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
        with pytest.raises(CannotConnect, match=r"nothing listens on|closed the connection"):
            connecting.result(timeout=120)


def test_a_lack_of_connections_is_reported(server: PrivateServer, admin: Any, connect: Sessions) -> None:
    admin.execute("SET GLOBAL max_connections = 10")
    session = connect()
    free = database(server.target).free_connections(session)
    assert free is not None
    for _ in range(free):
        connect()
    with pytest.raises(CannotConnect, match="no more connections are allowed; use fewer virtual users"):
        for _ in range(12):  # one more is kept for its administrator, and sessions of before may end only now
            connect()


def test_a_limit_of_prepared_statements_is_a_lack_of_resources_which_is_known_before_the_run(
    server: PrivateServer, admin: Any, connect: Sessions, tmp_path: Path
) -> None:
    """By the statements that a session of the load prepares; where none is free, the server's own error counts."""
    limit = database(server.target).statement_limit(admin)
    assert limit is None or limit.setting == "max_prepared_stmt_count"
    if "execute_with_values" not in statements(database(server.target).dialects, "server"):
        pytest.skip("clients of this server send their statements as text")
    (tmp_path / "workload.yaml").write_text("operations: {one: {}, two: {}}\nvariables: {n: {uniform: {max: 9}}}\n")
    (tmp_path / "all.sql").write_text("-- name: one\nSELECT :n\n-- name: two\nSELECT :n + 1\n")
    assert limit is not None
    used = limit.used
    admin.execute(f"SET GLOBAL max_prepared_stmt_count = {used + 3}")
    load = Load(virtual_users=2, rampup_s=0, duration_s=0.3)
    with pytest.raises(InputError, match=r"is \d+, of which 3 are free, but 2 virtual users prepare at least 2 st"):
        hdbkit.run(server.target, tmp_path, load)
    admin.execute(f"SET GLOBAL max_prepared_stmt_count = {used}")
    with pytest.raises(InputError, match=r"cannot be prepared in .* raise max_prepared_stmt_count"):
        hdbkit.run(server.target, tmp_path, load)
    session = connect()
    with pytest.raises(TransactionError, match="raise max_prepared_stmt_count, or use fewer") as raised:
        session.prepare(["client_select_named"])
    assert raised.value.error_class is ErrorClass.RESOURCES
    admin.execute(f"SET GLOBAL max_prepared_stmt_count = {used + 4}")
    assert hdbkit.run(server.target, tmp_path, load).manifest.status == "done"


def test_lines_and_history_are_partitioned_and_history_keyed_unseen(connect: Sessions) -> None:
    session = connect()
    session.query("use_storage_engine", storage_engine="InnoDB")
    for table in ("order_line", "history"):
        session.query(f"create_{table}_partitioned", partitions=3)
    try:
        session.query("key_history")
        assert ("history_pk",) in session.query("list_indexes")
        (parts,) = session.rows(session.perform(PARTS))
        assert parts == (6,)
        session.begin()
        assert session.load(HISTORY, [b"1\t1\t7\t1\t7\t2026-01-02 03:04:05\t1.50\tnote\n"]) == 1
        assert len(session.query("content_history")[0]) == len(HISTORY.columns)
        session.commit()
    finally:
        session.query("drop_table", table="order_line")
        session.query("drop_table", table="history")


@pytest.fixture
def demanding(server: PrivateServer) -> Iterator[tuple[Target, str]]:
    """An empty database of a server that refuses tables without a primary key, and its setting."""
    setting = "innodb_force_primary_key" if server.target.kind == "mariadb" else "sql_require_primary_key"
    with closing(_session(server.admin)) as session:
        session.execute("CREATE DATABASE demanding")
        session.execute(f"SET GLOBAL {setting} = ON")
        yield server.admin.with_(database="demanding"), setting
        session.execute(f"SET GLOBAL {setting} = OFF")
        session.execute("DROP DATABASE demanding")


def test_where_the_server_demands_keys_a_table_without_one_is_refused_before_anything_is_made(
    demanding: tuple[Target, str],
) -> None:
    target, setting = demanding
    with pytest.raises(InputError, match=rf"\({setting} = ON\), and history of TPROC-C .*; add --history-key, which"):
        build(target, TprocCSpec(warehouses=1))
    with pytest.raises(
        InputError, match=rf"and region, nation, .* of TPROC-H .*; set {setting} to OFF for the build"
    ):
        build(target, TprocHSpec())
    with closing(database(target).schema(target, workload(TprocCSpec(warehouses=1)))) as schema:
        assert not schema.log().tables


@pytest.mark.parametrize("partitions", [0, 2])
def test_where_the_server_demands_keys_every_other_table_has_one_when_it_is_made(
    demanding: tuple[Target, str], partitions: int
) -> None:
    target, _ = demanding
    keyed = workload(TprocCSpec(warehouses=1, history_key=True, partitions=partitions))
    with closing(database(target).schema(target, keyed)) as schema:
        schema.create(keyed.record)
        try:
            assert schema.log().tables == {*keyed.tables}
        finally:
            schema.drop()


def test_a_storage_engine_that_is_not_there_is_refused_before_anything_is_made(server: PrivateServer) -> None:
    with pytest.raises(InputError, match="storage_engine 'Nowhere' cannot be used"):
        build(server.target, TprocCSpec(storage_engine="Nowhere"))


def test_both_kinds_share_all_but_their_files() -> None:
    assert all(isinstance(database(kind), MysqlclientDatabase) for kind in KINDS)


def test_statistics_of_a_table_that_the_server_believes_to_be_small(server: PrivateServer, connect: Sessions) -> None:
    session = connect()
    session.execute("CREATE TABLE padded (id INT PRIMARY KEY, padding CHAR(255)) STATS_AUTO_RECALC = 0")
    session.execute("INSERT INTO padded VALUES (1, ''), (2, '')")
    session.execute("SET @id = 2")
    for _ in range(14):
        session.execute("INSERT INTO padded SELECT @id := @id + 1, REPEAT('x', 200) FROM padded")
    try:
        ((table, reason),) = session.query("list_unanalyzed")
        assert table == "padded"
        assert reason.startswith("has statistics of ")
        session.query("update_statistics", table="padded")
        assert session.query("list_unanalyzed") == []
    finally:
        session.execute("DROP TABLE padded")


def test_each_missing_privilege_has_the_command_that_grants_it(
    server: PrivateServer, connect: Sessions, admin: Any
) -> None:
    engine = database(server.target)
    admin.execute("CREATE USER 'limited'@'127.0.0.1' IDENTIFIED BY 'word-of-ours'")
    admin.execute(f"GRANT SELECT, EXECUTE ON `{server.target.database}`.* TO 'limited'@'127.0.0.1'")
    limited = server.target.with_(host="127.0.0.1", user="limited", password="word-of-ours", password_file=None)
    try:
        with closing(_session(limited)) as session:
            missing = engine.advised_grants(session)
        assert [one.without.split()[0] for one in missing] == ["hdbkit", "deadlocks,"]
        assert "SELECT" not in missing[0].command
        for one in missing:
            admin.execute(one.command)
        with closing(_session(limited)) as session:
            assert engine.advised_grants(session) == []
    finally:
        admin.execute("DROP USER 'limited'@'127.0.0.1'")


@pytest.fixture
def limited(server: PrivateServer, admin: Any) -> Iterator[Target]:
    """An account that may do nothing in the database ``my_shop``, which is its own; it has no privilege elsewhere."""
    word, account = WORD, "'limited'@'127.0.0.1'"
    admin.execute("CREATE DATABASE my_shop")
    for command in (
        *("TABLE things (a INT PRIMARY KEY, b INT)", "TABLE notes (a INT)", "TABLE more (a INT)"),
        *(
            "PROCEDURE note() INSERT INTO notes VALUES (1)",
            "FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n",
        ),
        "PROCEDURE own() SQL SECURITY INVOKER DELETE FROM notes",
    ):
        admin.execute(f"CREATE {command.replace(' ', ' my_shop.', 1)}")
    admin.execute(f"CREATE USER {account} IDENTIFIED BY '{word}'")
    admin.execute(f"GRANT CREATE TEMPORARY TABLES ON my_shop.* TO {account}")
    yield server.target.with_(
        host="127.0.0.1",
        user="limited",
        password=word,
        password_file=None,
        server_folder=None,
        database="my_shop",
        options=login_options(server.target),
    )
    admin.execute(f"DROP USER {account}")
    admin.execute("DROP DATABASE my_shop")


USED = [
    "SELECT a FROM things WHERE b = 1",
    "INSERT INTO notes SELECT a FROM more",
    "UPDATE things SET b = 1",
    "DELETE FROM notes",
    "CALL note()",
    "CALL own()",
]
ACCESS = Access(
    {
        "SELECT": frozenset({"things", "more"}),
        **{"INSERT": frozenset({"notes"}), "UPDATE": frozenset({"things"}), "DELETE": frozenset({"notes"})},
    },
    routines=frozenset({"note", "own"}),
)
"""What these use."""
READING = Access({"SELECT": frozenset({"things"})})


def works(session: Any, text: str) -> bool:
    try:
        session.execute(text)
    except TransactionError:
        return False
    return True


def test_an_account_lacks_what_statements_use_and_the_grants_suffice(limited: Target, admin: Any) -> None:
    engine, access = database(limited), ACCESS
    with closing(_session(limited)) as session:
        assert [works(session, text) for text in USED] == [False] * len(USED)
        (grant,) = engine.grants_for(session, access)
    assert grant == "GRANT DELETE, EXECUTE, INSERT, SELECT, UPDATE ON `my_shop`.* TO 'limited'@'127.0.0.1'"
    admin.execute(grant)
    with closing(_session(limited)) as session:
        assert engine.grants_for(session, access) == []
        assert [works(session, text) for text in USED] == [True] * len(USED)


def test_a_grant_on_a_pattern_is_not_lost(limited: Target, admin: Any) -> None:
    reading = {"SELECT": frozenset({"things", "more"}), "INSERT": frozenset({"notes"})}
    engine, access, account = database(limited), Access(reading), "'limited'@'%'"
    admin.execute(f"RENAME USER 'limited'@'127.0.0.1' TO {account}")
    try:
        admin.execute(f"REVOKE CREATE TEMPORARY TABLES ON my_shop.* FROM {account}")
        admin.execute(f"GRANT SELECT ON `my%`.* TO {account}")
        with closing(_session(limited)) as session:
            (grant,) = engine.grants_for(session, access)
        assert grant == rf"GRANT INSERT, SELECT ON `my\_shop`.* TO {account}"
        admin.execute(grant)
        with closing(_session(limited)) as session:
            assert [works(session, text) for text in USED[:2]] == [True, True]
    finally:
        admin.execute(f"RENAME USER {account} TO 'limited'@'127.0.0.1'")


def test_what_routines_use_is_needed_where_they_run_as_who_calls_them(limited: Target, admin: Any) -> None:
    engine, in_routines = database(limited), {"DELETE": frozenset({"notes"})}
    admin.execute("GRANT EXECUTE, SELECT ON my_shop.* TO 'limited'@'127.0.0.1'")
    with closing(_session(limited)) as session:
        of = {
            name: engine.grants_for(session, Access({}, frozenset({name}), in_routines)) for name in ("note", "OWN")
        }
        assert of == {"note": [], "OWN": ["GRANT DELETE ON `my_shop`.* TO 'limited'@'127.0.0.1'"]}
        assert [works(session, f"CALL {name}()") for name in of] == [True, False]


def test_a_denied_statement_names_what_is_lacking(limited: Target, admin: Any) -> None:
    engine = database(limited)
    expected = {
        "SELECT a FROM things WHERE b = 1": "SELECT",
        "INSERT INTO notes VALUES (1)": "INSERT",
        "UPDATE things SET b = 1": "UPDATE",
        "CALL note()": "EXECUTE",
    }
    for text, privilege in expected.items():
        with closing(_session(limited)) as session:
            with pytest.raises(TransactionError) as raised:
                session.execute(text)
            assert raised.value.code in engine.denied
            (access,) = engine.denied_access(made("x", text, Path("x.sql")), raised.value)
            assert engine.grants_for(session, access) == [
                f"GRANT {privilege} ON `my_shop`.* TO 'limited'@'127.0.0.1'"
            ]
    with closing(_session(limited)) as session, pytest.raises(TransactionError) as raised:
        session.execute("SELECT a FROM")
    assert raised.value.code not in engine.denied


def test_a_run_whose_statements_are_denied_is_refused(limited: Target, admin: Any, tmp_path: Path) -> None:
    """Each is explained as the account of the run; a CALL cannot be explained, and two commands are not sent."""
    admin.execute("GRANT SELECT ON my_shop.* TO 'limited'@'127.0.0.1'")
    (tmp_path / "workload.yaml").write_text("operations: {look: {}, put: {}, call: {weight: 0.1}}\n")
    (tmp_path / "all.sql").write_text(
        "-- name: look\nSELECT a FROM things LIMIT :n\n-- name: put\nINSERT INTO notes VALUES (:n)\n"
        "-- name: call\nCALL note()\n"
    )
    with (tmp_path / "workload.yaml").open("a") as file:
        file.write("variables: {n: {uniform: {max: 9}}}\n")
    load = Load(virtual_users=1, rampup_s=0, duration_s=0.3)
    with pytest.raises(NoAccess, match=r"\(operation put, statement put: INSERT command denied .*GRANT INSERT"):
        hdbkit.run(limited, tmp_path, load)
    with closing(_session(limited)) as session:
        assert session.query("server_version")


def test_privileges_of_active_roles_count(limited: Target, admin: Any) -> None:
    engine, access = database(limited), ACCESS
    admin.execute("CREATE ROLE inner_one")
    admin.execute("CREATE ROLE outer_one")
    try:
        admin.execute("GRANT ALL ON my_shop.* TO inner_one")
        admin.execute("GRANT PROCESS ON *.* TO inner_one")
        admin.execute("GRANT inner_one TO outer_one")
        admin.execute("GRANT outer_one TO 'limited'@'127.0.0.1'")
        with closing(_session(limited)) as session:
            assert len(engine.grants_for(session, access)) == 1
            assert len(engine.advised_grants(session)) == 2
        to = "FOR" if limited.kind == "mariadb" else "TO"
        admin.execute(f"SET DEFAULT ROLE outer_one {to} 'limited'@'127.0.0.1'")
        with closing(_session(limited)) as session:
            assert [works(session, text) for text in USED] == [True] * len(USED)
            assert engine.grants_for(session, access) == []
            assert engine.advised_grants(session) == []
    finally:
        admin.execute("DROP ROLE inner_one")
        admin.execute("DROP ROLE outer_one")


def test_what_is_revoked_of_a_privilege_on_everything_is_lacking(limited: Target, admin: Any) -> None:
    engine, access = database(limited), READING
    if limited.kind == "mariadb":
        pytest.skip("it has no partial revokes")
    admin.execute("SET GLOBAL partial_revokes = 1")
    try:
        admin.execute("GRANT SELECT ON *.* TO 'limited'@'127.0.0.1'")
        with closing(_session(limited)) as session:
            assert engine.grants_for(session, access) == []
        admin.execute("REVOKE SELECT ON my_shop.* FROM 'limited'@'127.0.0.1'")
        with closing(_session(limited)) as session:
            (grant,) = engine.grants_for(session, access)
        assert grant == "GRANT SELECT ON `my_shop`.* TO 'limited'@'127.0.0.1'"
        admin.execute(grant)
        with closing(_session(limited)) as session:
            assert engine.grants_for(session, access) == []
            assert works(session, "SELECT a FROM things WHERE b = 1")
    finally:
        admin.execute("REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'limited'@'127.0.0.1'")
        admin.execute("SET GLOBAL partial_revokes = 0")


def test_a_new_account_may_use_a_database_whose_name_is_no_pattern(server: PrivateServer, admin: Any) -> None:
    if server.target.kind == "mariadb":
        pytest.skip("there it is always one")
    wanted = server.target.with_(user="fresh", database="fresh_one", password=WORD, password_file=None)
    admin.execute("SET GLOBAL partial_revokes = 1")
    try:
        assert "database fresh_one" in database(wanted).provision(server.admin, wanted)
        with closing(_session(wanted)) as session:
            assert works(session, "CREATE TABLE things (a INT)")
    finally:
        admin.execute("SET GLOBAL partial_revokes = 0")
        admin.execute("DROP DATABASE IF EXISTS fresh_one")
        admin.execute("DROP USER IF EXISTS fresh@localhost")


def test_the_account_is_the_one_that_the_server_knows(limited: Target, admin: Any) -> None:
    """As behind a proxy, which connects with an account of its own."""
    admin.execute("RENAME USER 'limited'@'127.0.0.1' TO ''@'127.0.0.1'")
    try:
        with closing(_session(limited)) as session:
            (grant,) = database(limited).grants_for(session, Access({"DELETE": frozenset({"notes"})}))
        assert grant.endswith(" TO ''@'127.0.0.1'")
        admin.execute(grant)
    finally:
        admin.execute("RENAME USER ''@'127.0.0.1' TO 'limited'@'127.0.0.1'")


def test_innodb_adapts_its_writing_within_a_known_time(server: PrivateServer, connect: Sessions) -> None:
    cycle = database(server.target).write_cycle(connect())
    assert (cycle.setting, cycle.value, cycle.seconds) == ("innodb_flushing_avg_loops", "30", 30)
    assert cycle.warning(29).startswith("the window (29 s) is shorter")
    assert cycle.warning(30) == ""


def test_a_read_only_server_is_one_for_ordinary_accounts(
    server: PrivateServer, connect: Sessions, admin: Any
) -> None:
    engine = database(server.target)
    assert engine.role(connect()) is ServerRole.PRIMARY
    admin.execute("SET GLOBAL read_only = 1")
    try:
        assert engine.role(connect()) is ServerRole.READ_ONLY
        assert engine.role(admin) is ServerRole.PRIMARY
        assert engine.is_replica(admin)
        lacking = {one.without: one.command for one in engine.advised_grants(connect())}
        assert "replication lag is not visible" in lacking
    finally:
        admin.execute("SET GLOBAL read_only = 0")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("8.0.30", "(ProxySQL)"), "ProxySQL"),
        (("5.5.5-10.6.8 23.02.1-maxscale", "MariaDB Server"), "MaxScale"),
        (("10.11.19-MariaDB-log", "managed by https://aws.amazon.com/rds/"), ""),
    ],
)
def test_a_proxy_is_known_by_the_name_that_it_gives_itself(texts: tuple[str, ...], found: str) -> None:
    assert proxy_named(*texts) == found


@pytest.mark.parametrize(
    ("session", "mode"),
    [
        ('{"backends": [null, {"conn": {"MultiplexDisabled": true}}]}', PoolMode.SESSION),
        ('{"backends": [{"conn": {"MultiplexDisabled": false}}, {"hostgroup_id": 1}]}', PoolMode.TRANSACTION),
        ("{}", PoolMode.TRANSACTION),
        ("\x1b[31m" * 9, PoolMode.SESSION),
        ("[1]", PoolMode.SESSION),
        ("[" * 100_000, PoolMode.SESSION),
    ],
)
def test_proxysql_shares_connections_unless_the_session_has_disabled_that(session: str, mode: PoolMode) -> None:
    assert shared_by(session) is mode
