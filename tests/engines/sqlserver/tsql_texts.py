"""The commands of SQL Server's own statements, as they are sent, for the grammars that read T-SQL."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from hdbkit.databases import database
from hdbkit.databases._base.dbapi_statements import compiled
from hdbkit.databases.sqlserver.schema import MEMORY, PARTITIONS
from hdbkit.sql import folders, statements

KIND: Final = "sqlserver"
_VALUE: Final = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_WORDS: Final[dict[str, Any]] = {
    **{"milliseconds": 1, "degree": 2, "seconds": 3, "partitions": 4, "bounds_6000000": (1, 2)},
    **{"memory_optimized": "SCHEMA_ONLY"},
}
_SQL: Final = {"parallel_hint": "SELECT a FROM b {}"}
"""What is around a statement that is a part of one."""


def own_texts() -> dict[str, str]:
    """Each command of SQL Server's folders, with variables in the place of values, by folder, name and place.

    Those with schema options begin with ``options.``.
    """
    plain = _texts_of(database(KIND).dialects)
    with_options = _texts_of((*database(KIND).dialects, MEMORY, PARTITIONS)).items()
    return plain | {f"options.{name}": text for name, text in with_options if plain.get(name) != text}


def _texts_of(dialects: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for folder in folders(dialects):
        for name, statement in statements(dialects, folder).items():
            partitioned = PARTITIONS in dialects and name.endswith("_partitioned")
            if not (statement.dialect.startswith(KIND) or partitioned):
                continue
            words = {word: 1024 if word.startswith("buckets_") else "a" for word in statement.words} | _WORDS
            whole = statement.partly_filled({w: v for w, v in words.items() if w not in ("fields", "statement")})
            text = _SQL.get(name, "{}").replace("{}", whole.text)
            whole = replace(whole, text=text.replace("{fields}", "f INT").replace("{statement}", "SELECT a FROM b"))
            for place, one in enumerate(compiled(whole, "named").pieces):
                found[f"{folder}.{name}.{place}"] = _VALUE.sub(r"@\1", one.text)
    return found
