"""Settings that make a test server without valuable data fast, by kind of server."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from hdbkit.databases import sql_session
from hdbkit.errors import TransactionError
from hdbkit.servers import PrivateServer

_NO_FLUSH: Final = {"innodb_flush_log_at_trx_commit": "0"}

QUICK: Final = {
    "postgresql": {"fsync": "off", "full_page_writes": "off", "deadlock_timeout": "100ms"},
    "mariadb": _NO_FLUSH,
    "mysql": _NO_FLUSH,
}

_UNUSUAL: Final = {
    "autocommit": "0",
    "completion_type": "2",
    "default_storage_engine": "MyISAM",
    "div_precision_increment": "0",
    "foreign_key_checks": "0",
    "group_concat_max_len": "10",
    "init_connect": "'SET NAMES latin1, character_set_connection = ucs2'",
    "max_join_size": "10",
    "max_sort_length": "64",
    "sql_auto_is_null": "1",
    "sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION'",
    "sql_safe_updates": "1",
    "sql_select_limit": "5",
    "time_zone": "'+05:45'",
}
UNUSUAL: Final = {
    "postgresql": {
        "array_nulls": "off",
        "backslash_quote": "off",
        "bytea_output": "escape",
        "check_function_bodies": "off",
        "client_encoding": "LATIN1",
        "datestyle": "'German, DMY'",
        "extra_float_digits": "-15",
        "idle_session_timeout": "60000",
        "intervalstyle": "sql_standard",
        "plpgsql.variable_conflict": "use_column",
        "quote_all_identifiers": "on",
        "row_security": "off",
        "search_path": "nothing, public",
        "standard_conforming_strings": "off",
        "timezone": "'Asia/Kathmandu'",
        "transform_null_equals": "on",
    },
    "mariadb": {**_UNUSUAL, "tx_read_only": "1"},
    "mysql": {**_UNUSUAL, "transaction_read_only": "1"},
}
"""By kind of server, defaults that an administrator may choose, and that must not change what hdbkit does."""


def choose_unusual_defaults(server: PrivateServer) -> None:
    """Make them the defaults of all accounts."""
    command = "ALTER ROLE ALL SET {} = {}" if server.target.kind == "postgresql" else "SET GLOBAL {} = {}"
    with closing(sql_session(server.maintenance)) as session:
        for setting in UNUSUAL[server.target.kind].items():
            try:
                session.execute(command.format(*setting))
            except TransactionError as error:
                if error.code != "0A000":  # a value that PostgreSQL 19 no longer has
                    raise
