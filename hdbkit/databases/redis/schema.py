"""A workload's schema in Redis: keys that begin with its name, its functions, and the build record.

``<schema>:build`` has the specification and whether the build is complete, ``<schema>:parts`` the rows of each part,
and ``<schema>:tables`` the tables. Nothing is undone, so a part is recorded when all of it is loaded; a build that
resumes loads an unrecorded part again, which sets the same keys.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.contracts import BuildLog, PartLoad, Schema, SessionOptions, StatementLoad, Workload
from hdbkit.databases._base.database import product_named, validated_options
from hdbkit.databases._base.sql_schema import reported
from hdbkit.databases.redis.cluster import RedisClusterSession
from hdbkit.databases.redis.session import RedisSession
from hdbkit.errors import InputError

if TYPE_CHECKING:
    from hdbkit.databases.redis import Redis

_OPTIONS = SessionOptions(application="hdbkit build")


class RedisSchema(Schema):
    """Contract: :class:`hdbkit.contracts.Schema`."""

    session: RedisSession | RedisClusterSession

    def __init__(self, engine: Redis, target: Target, workload: Workload) -> None:
        validated_options(engine, workload.spec.storage)
        scope = workload.scope(engine.dialects)
        self._workload, self.target = workload, target
        if missing := [table for table in workload.tables if f"load_{table}" not in scope.statements]:
            raise InputError(f"{workload.title} cannot be built in {engine.title}: it has no keys for {missing[0]}")
        with product_named(target):
            self.session = engine.connect(target, scope, _OPTIONS)
        self._claimed = ""

    def _key(self, name: str) -> str:
        return f"{self.session.common}{name}"

    def log(self) -> BuildLog:
        ask = self.session.command
        tables = frozenset(name.decode() for name in ask("SMEMBERS", self._key("tables")))
        spec, finished = ask("HMGET", self._key("build"), "spec", "finished")
        if spec is None:
            return BuildLog(exists=bool(tables), tables=tables)
        found = ask("HGETALL", self._key("parts"))
        parts = {key.decode(): int(rows) for key, rows in zip(found[::2], found[1::2], strict=True)}
        return BuildLog(True, tables, spec.decode(), finished == b"1", parts)

    def claim(self) -> bool:
        """By a key that names this connection; that of a connection which has ended does not count."""
        ask, key = self.session.command, self._key("claim")
        name = self._claimed or f"{self.session.library}-{secrets.token_hex(8)}"
        ask("CLIENT", "SETNAME", name)
        self._claimed = name
        ask("WATCH", key)
        holder = (ask("GET", key) or b"").decode()
        if holder and holder != name and f" name={holder} ".encode() in ask("CLIENT", "LIST"):
            ask("UNWATCH")
            return False
        ask("MULTI")
        ask("SET", key, name)
        return ask("EXEC") is not None

    def create(self, spec: str) -> None:
        log = self.log()
        if log.spec != spec:
            self.session.command("HSET", self._key("build"), "spec", spec, "finished", "0")
        if missing := [table for table in self._workload.tables if table not in log.tables]:
            self.session.command("SADD", self._key("tables"), *missing)

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Load a part, then record it."""
        rows = 0
        for load in loads:
            if isinstance(load, StatementLoad):
                self.session.ask(load.operation)
            else:
                rows += self.session.load(load.table, reported(load.chunks, sent))
        self.session.command("HSET", self._key("parts"), part, rows)

    def routines(self) -> None:
        """Load the functions, unless they are there as this version writes them."""
        if self.routine_problem(self._workload.routines):
            self.session.load_functions(self._workload.routines, self._workload.reading)

    def routine_problem(self, used: Collection[str]) -> str:
        """By the code of the library on each node."""
        there = self.session.functions()
        if missing := [name for name in self._workload.routines if name in used and name not in there]:
            return f"lacks the functions {', '.join(missing)}, which a dump may have left out"
        nodes = self.session.nodes
        wanted = nodes[0].library_code(self._workload.routines, self._workload.reading)
        current = not used or all(node.loaded_code() == wanted for node in nodes)
        return "" if current else "has the functions of another version of hdbkit"

    def analyze(self) -> None:
        """There are no statistics. Raises ``InputError``."""
        raise InputError("Redis has no statistics of tables; omit --analyze")

    def finish(self) -> None:
        self.session.command("HSET", self._key("build"), "finished", "1")

    def drop(self) -> list[str]:
        """Remove the functions and every key of the schema, the record last."""
        log, session = self.log(), self.session
        functions = session.functions()
        for node in session.nodes:
            if node.functions():
                node.command("FUNCTION", "DELETE", node.library)
            cursor = "0"
            while (cursor := node.ask("remove_keys", cursor=cursor)[0][0]) != "0":
                pass
        session.command("UNLINK", *(self._key(name) for name in ("tables", "parts", "build", "claim")))
        tables = [f"table {table}" for table in self._workload.tables if table in log.tables]
        return [*(f"function {name}" for name in functions), *tables]
