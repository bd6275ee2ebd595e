"""What a server that speaks PostgreSQL's protocol is and can do; see :mod:`hdbkit.databases._base.probing`."""

from __future__ import annotations

from typing import Final

from hdbkit.databases._base.probing import Probe, Product
from hdbkit.databases.postgresql.pooled import is_pooled
from hdbkit.databases.postgresql.session import PsycopgSession

PRODUCTS: Final = (
    Product("QuestDB", r"QuestDB ?([\d.]+)?", hindrance="it has no transactions", tried="9.3.4"),
    Product("H2", r"using H2 ([\d.]+)", tried="2.5.252: refused, it cannot answer"),
    Product("CrateDB", r"CrateDB ([\d.]+)", hindrance="it has no transactions"),
    Product("Redshift", r"Redshift ([\d.]+)"),
    Product("CockroachDB", r"CockroachDB \w* ?v([\d.]+)"),
    Product("Greenplum", r"Greenplum Database ([\d.]+)"),
    Product("YugabyteDB", r"-YB-([\d.]+)"),
    Product(
        "PGlite", r"PGlite ?([\d.]+)?|emcc|emscripten", hindrance="its connections are one session", tried="0.5.14"
    ),
    Product("EDB Postgres Advanced Server", r"EnterpriseDB Advanced Server ([\d.]+)?", is_foreign=False),
    Product("Citus", r"citus=([\d.]+)", is_foreign=False),
    Product("TimescaleDB", r"timescaledb=([\d.]+)", is_foreign=False, tried="2.19.3"),
    Product("AlloyDB", r"\balloydb\.", is_foreign=False),
    Product("Neon", r"\bneon[.=]", is_foreign=False),
    Product("Aurora PostgreSQL", r"\b(?:apg|aurora)\w*\.", is_foreign=False),
    Product("Supabase", r"\bsupautils\.", is_foreign=False),
)
"""By what they state in their version, extensions and settings; the first that applies counts."""
NEEDED: Final = ("backend", "schema_exists", "list_tables", "list_indexes", "server_version")
QUESTIONS: Final = (
    *("claim_schema", "role", "read_only_by", "clock", "encryption", "free_connections", "footprint", "timeouts"),
    *("lift_own_limits", "disturbing_settings", "write_cycle", "counters", "counters_of_log", "counters_of_tables"),
    *("waiting_locks", "replication_lag", "read_settings", "control_settings", "running_settings", "session_waits"),
    *("advised_grants", "grants_for", "list_unanalyzed", "work_of_server"),
)
"""The others that are asked for, without which the server is less than the engine."""


class PostgreSQLProbe(Probe):
    """The questions in PostgreSQL's words; a table that COPY cannot load cannot be loaded."""

    products, needed, questions = PRODUCTS, NEEDED, QUESTIONS
    denied = frozenset({"42501"})

    def is_direct(self, session: PsycopgSession) -> bool:
        """Unless a pooler serves it: its sessions may share one of the server."""
        return not is_pooled(session)
