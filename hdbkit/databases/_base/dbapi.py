"""Sessions and engines on any driver that follows the Python DB-API (PEP 249).

An engine inherits from :class:`DbapiDatabase` and states how its driver is opened, which placeholders it takes, and
what its errors mean. Statements are sent as they are written, one after the other, unless an engine's session sends
several together.
"""

from __future__ import annotations

from typing import Any, cast

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Row, Schema, Scope, Session, SessionOptions, Workload
from hdbkit.databases._base.access import connected_in_time, first_usable
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.sql_schema import SqlDatabase, SqlSchema
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError

_SQLSTATES = (
    ("40P01", ErrorClass.DEADLOCK),
    ("40001", ErrorClass.SERIALIZATION),
    ("55P03", ErrorClass.LOCK_TIMEOUT),
    ("57014", ErrorClass.STATEMENT_TIMEOUT),
    ("HYT00", ErrorClass.STATEMENT_TIMEOUT),
    ("57P", ErrorClass.CONNECTION_LOST),
    ("08", ErrorClass.CONNECTION_LOST),
    ("23", ErrorClass.CONSTRAINT),
    ("53", ErrorClass.RESOURCES),
)


def class_of(sqlstate: str) -> ErrorClass:
    """The class of an error by its SQLSTATE (ISO/IEC 9075-2, and the states of ODBC and PostgreSQL)."""
    return next((found for start, found in _SQLSTATES if sqlstate.startswith(start)), ErrorClass.OTHER)


class DbapiDatabase(BaseDatabase):
    """An SQL engine on a DB-API driver. Contract: :class:`hdbkit.contracts.Database`."""

    paramstyle = "qmark"
    """The placeholders of the driver: qmark, numeric, named, format or pyformat."""
    driver: str
    """The name of the driver."""
    session_type: type[DbapiSession] = DbapiSession
    schema_type: type[SqlSchema] = SqlSchema
    no_answer: frozenset[str] = frozenset()
    """The codes of errors after which a question of the server has no answer: this account may not ask it."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the driver."""
        raise NotImplementedError

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """The class of an error, its code and its text; by default the driver's first argument is the SQLSTATE."""
        code, text = (*map(str, error.args), "", "")[:2]
        return class_of(code), code, text or code

    def asked(self, session: Session, operation: str, /, **arguments: Any) -> list[Row]:
        """The answer to a question of the server; none where a privilege is missing, which doctor reports."""
        try:
            return super().asked(session, operation, **arguments)
        except TransactionError as error:
            if error.code in self.no_answer:
                return []
            raise

    def opened(self, target: Target, options: SessionOptions) -> Any:
        """A connection of the driver to the only address of ``target``. Raises ``CannotConnect``."""
        raise NotImplementedError

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> DbapiSession:
        """A session at the first usable address."""
        self.check_options(target)
        return first_usable(target, lambda one: self._connect(one, scope, options or SessionOptions()))

    def _connect(self, target: Target, scope: Scope, options: SessionOptions) -> DbapiSession:
        connection, descriptor = self._opened(target, options)
        session = self.session_type(connection, self, scope)
        session.reached_by(self, target, options)
        session.descriptor = descriptor
        try:
            self.set_up(session, target, options)
            self._limit_locks(session, options)
        except TransactionError as error:
            session.close()
            raise CannotConnect(target.url, error.text, "check the server and the options of the target") from None
        return session

    def _opened(self, target: Target, options: SessionOptions) -> tuple[Any, int | None]:
        """A connection, and the descriptor of its socket if that is known."""
        return connected_in_time(target, options, lambda: self.opened(target, options))

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """Set the options of a new session, such as its isolation level and timeouts."""

    def limit_locks(self, session: DbapiSession, milliseconds: int) -> None:
        """Limit waits of a new session for locks; does nothing on an engine that cannot, or does it in ``set_up``."""

    def _limit_locks(self, session: DbapiSession, options: SessionOptions) -> None:
        """One of hdbkit's own goes on without the limit where the server lacks it."""
        try:
            if options.lock_limit_ms:
                self.limit_locks(session, options.lock_limit_ms)
        except TransactionError as error:
            if error.lost or not options.is_own:
                raise

    def schema(self, target: Target, workload: Workload) -> Schema:
        return self.schema_type(cast(SqlDatabase, self.at(target)), target, workload)
