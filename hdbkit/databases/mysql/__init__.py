"""MySQL 8.0 and later, through mysqlclient."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hdbkit.contracts import Capability, Session
from hdbkit.databases._mysqlclient.database import MysqlclientDatabase
from hdbkit.errors import TransactionError
from hdbkit.readings import ServerRole, answered
from hdbkit.sql import ANSI


class MySQL(MysqlclientDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "mysql"
    title = protocol = "MySQL"
    recognized_by = (b"", rb"...\0\n(?!.*MariaDB)")
    dialects = (ANSI, kind)
    processes = ("mysqld",)
    capabilities = MysqlclientDatabase.capabilities - {Capability.CHANGE_TIMEOUT}

    def role(self, session: Session) -> ServerRole:
        """Also by super_read_only, from which no account is exempt."""
        rows = answered(lambda: session.ask("super_read_only"), [])
        return ServerRole.READ_ONLY if rows and rows[0][0] else super().role(session)

    def counters(self, session: Session) -> dict[str, float]:
        """Includes history list length and deadlocks if the account may read them."""
        counters = super().counters(session)
        with suppress(TransactionError):
            counters |= {str(name): float(value) for name, value in session.ask("metrics")}
        return counters

    def _identified_by(self, password: str) -> dict[str, Any]:
        """The password itself, since the server chooses the authentication method of an account."""
        return {"password": password}


DATABASE = MySQL()
