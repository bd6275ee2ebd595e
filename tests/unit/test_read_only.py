"""A server that has become read-only, as after a planned switchover: lost to sessions that need the primary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from MySQLdb import OperationalError
from psycopg import pq

from hdbkit.config import Target
from hdbkit.databases._base.access import wants_primary
from hdbkit.databases._mysqlclient.session import MysqlclientSession
from hdbkit.databases.postgresql.session import PsycopgSession
from hdbkit.errors import ErrorClass, TransactionError


class Answering:
    """A connection that is open, and reports whether it was closed."""

    status = pq.ConnStatus.OK

    def __init__(self) -> None:
        self.closed = False

    def query(self, _: bytes) -> None:
        """Rolls back."""

    def close(self) -> None:
        self.closed = True


def class_of(session: Any, error: Any) -> ErrorClass:
    with pytest.raises(TransactionError) as raised:
        session._raise_error(error)
    return raised.value.error_class


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (
            (1290, "The MariaDB server is running with the --read-only option so it cannot execute this statement"),
            True,
        ),
        ((1290, "The MySQL server is running with the --super-read-only option so it cannot execute this"), True),
        ((1836, "Running in read-only mode"), True),
        ((1290, "The MySQL server is running with the --secure-file-priv option so it cannot execute this"), False),
        ((1146, "Table 'read-only' doesn't exist"), False),
    ],
)
@pytest.mark.parametrize("needs_primary", [True, False])
def test_mysqlclient_gives_up_a_server_that_has_become_read_only(
    error: tuple[int, str], lost: bool, needs_primary: bool
) -> None:
    session, connection = MysqlclientSession.__new__(MysqlclientSession), Answering()
    session.connection, session.needs_primary = connection, needs_primary
    expected = ErrorClass.CONNECTION_LOST if lost and needs_primary else ErrorClass.OTHER
    assert class_of(session, OperationalError(*error)) is expected
    assert connection.closed == (lost and needs_primary)


@pytest.mark.parametrize(("code", "lost"), [(b"25006", True), (b"42501", False), (None, False)])
@pytest.mark.parametrize("needs_primary", [True, False])
def test_psycopg_gives_up_a_server_that_has_become_read_only(
    code: bytes | None, lost: bool, needs_primary: bool
) -> None:
    session = PsycopgSession.__new__(PsycopgSession)
    session.connection, session.needs_primary = Answering(), needs_primary  # type: ignore[assignment]
    session._begun = session._sent_begin = False
    fields = {pq.DiagnosticField.SQLSTATE: code, pq.DiagnosticField.MESSAGE_PRIMARY: b"no"}
    expected = ErrorClass.CONNECTION_LOST if lost and needs_primary else ErrorClass.OTHER
    assert class_of(session, SimpleNamespace(error_field=fields.get)) is expected


@pytest.mark.parametrize(
    ("wanted", "primary"),
    [("read-write", True), ("primary", True), ("any", False), ("read-only", False), (None, False)],
)
def test_only_targets_that_name_it_need_the_primary(wanted: str | None, primary: bool) -> None:
    options = {"target_session_attrs": wanted} if wanted else {}
    assert wants_primary(Target(kind="postgresql", options=options)) == primary
