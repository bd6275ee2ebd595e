"""MariaDB 10.6 and later, through mysqlclient."""

from __future__ import annotations

import hashlib
from typing import Any

from hdbkit.contracts import Capability
from hdbkit.databases._mysqlclient.database import MysqlclientDatabase
from hdbkit.sql import ANSI


class MariaDB(MysqlclientDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "mariadb"
    title = protocol = "MariaDB"
    is_mariadb = True
    recognized_by = (b"", rb"...\0\n.*MariaDB")
    dialects = (ANSI, "mysql", kind)
    processes = ("mariadbd", "mysqld")
    capabilities = MysqlclientDatabase.capabilities | {Capability.SNAPSHOT_CONFLICTS}

    def _identified_by(self, password: str) -> dict[str, Any]:
        """The verifier for native password authentication: a hash of the hash."""
        once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
        return {"verifier": "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()}


DATABASE = MariaDB()
