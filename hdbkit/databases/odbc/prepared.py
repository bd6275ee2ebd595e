"""What a session of a data source has prepared by name, in SQL: such statements are planned once, also in batches.

Drivers prepare what is sent alone, and send a batch as text, which the server then parses and plans each time. A name
follows from the text: behind a pooler, a server session that another client prepared has the same statement by it.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hdbkit.databases._base.dbapi_statements import numbered
from hdbkit.sql import SERVER_STATEMENTS, Statement, find

if TYPE_CHECKING:
    import pyodbc

NOT_PREPARED: Final = "26000"
"""The SQLSTATE of a name that the server does not know: a pooler gave the session another server session."""
_PREPARABLE: Final = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
"""What servers prepare; to try others would leave errors in their log."""


class Prepared:
    """The statements that a server has prepared for a connection, by their texts with question marks."""

    def __init__(self, connection: pyodbc.Connection, dialects: tuple[str, ...]) -> None:
        self._connection = connection
        self._prepare, self._execute = (
            find(dialects, SERVER_STATEMENTS, name) for name in ("prepare_statement", "execute_statement")
        )
        self._commands: dict[str, str] = {}
        self._usable = True

    def __contains__(self, text: str) -> bool:
        return text in self._commands

    def try_each(self, texts: list[str]) -> None:
        """Prepare what the server can prepare, outside a transaction, which an error would end."""
        import pyodbc

        for text in texts:
            with suppress(pyodbc.Error):
                self.add(text)

    def add(self, text: str) -> None:
        """Prepare a statement. Raises the driver's error."""
        if text in self._commands or not self._usable or not _PREPARABLE.match(text):
            return
        with_numbers, count = numbered(text)
        words = {"name": f"hdbkit_{hashlib.sha256(text.encode()).hexdigest()[:24]}"}
        inner = Statement("", with_numbers, self._prepare.origin, "")
        self._connection.execute(self._prepare.partly_filled(words).around(inner).text)
        values = f" ({', '.join('?' * count)})" if count else ""
        self._commands[text] = f"{self._execute.filled(words).text}{values}"

    def command(self, text: str) -> str:
        """What executes a statement: its text, unless it is prepared."""
        return self._commands.get(text, text)

    def forget(self) -> None:
        """From now on, send texts."""
        self._commands.clear()
        self._usable = False
