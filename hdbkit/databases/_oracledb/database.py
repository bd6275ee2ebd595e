"""What engines have in common that python-oracledb connects to."""

from __future__ import annotations

from contextlib import closing

from hdbkit.config import Target
from hdbkit.contracts import Session
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._oracledb.connect import NO_PRIVILEGE


class OracledbDatabase(DbapiDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    driver = "oracledb"
    paramstyle = "named"
    no_answer = NO_PRIVILEGE

    def slow_load(self, session: Session) -> str | None:
        """Arrays are sent; a direct path is a choice, since it locks tables."""
        return None

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account if it is missing, with what a build needs; the database must exist."""
        role = target.user or ""
        with closing(self.connect(admin)) as session:
            if session.query("account", role=role)[0][0]:
                return []
            session.query("create_role", role=role, password=target.new_password())
        return [f"account {role}"]
