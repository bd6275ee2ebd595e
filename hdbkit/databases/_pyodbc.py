"""What engines on pyodbc have in common: the module, the parts of its errors, and values of connection strings."""

from __future__ import annotations

import re
from typing import Any

from hdbkit.errors import MissingDriver

DRIVER = "driver"
"""The attribute of a connection string that names an ODBC driver; its value is always in braces."""
_NUMBER = re.compile(r"\((-?\d+)\) \(SQL\w+\)")
"""The number of the server's error, at the end of pyodbc's text."""
_PLAIN = re.compile(r"[^\[\]{}(),;?*=!@ ][^;{}]*(?<! )")
"""A value of a connection string that needs no braces."""


def module(kind: str, extra: str) -> Any:
    """Pyodbc, without its pool of connections, which a forked process would share. Raises ``MissingDriver``."""
    try:
        import pyodbc
    except ImportError as error:
        missing = kind if isinstance(error, ModuleNotFoundError) else f"{kind} (which needs unixODBC: {error})"
        raise MissingDriver(missing, "pyodbc", extra) from None
    pyodbc.pooling = False
    return pyodbc


def error_parts(error: Exception) -> tuple[str, int, str]:
    """SQLSTATE, number and text of an error; pyodbc repeats the SQLSTATE in its text."""
    code, text = (*map(str, error.args), "", "")[:2]
    number = _NUMBER.search(text)
    return code, int(number[1]) if number else 0, " ".join(text.removeprefix(f"[{code}] ").split()) or code


def in_braces(name: str, value: str) -> str:
    """A value of the attribute ``name``, in braces where it needs them."""
    if _PLAIN.fullmatch(value) and name.lower() != DRIVER:
        return value
    return "{" + value.replace("}", "}}") + "}"
