"""Settings of PostgreSQL that hdbkit never changes, and that whoever has a token does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ADDRESS, _FILES = "clients would lose the server", "the server would look for its files elsewhere"
_OWN_SESSIONS = "its own sessions set it"
POSTGRESQL_PROTECTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("port", "listen_addresses", "ssl"), _ADDRESS),
        **dict.fromkeys(("unix_socket_directories", "unix_socket_group", "unix_socket_permissions"), _ADDRESS),
        **dict.fromkeys(("data_directory", "config_file", "hba_file", "ident_file", "external_pid_file"), _FILES),
        "allow_alter_system": "the settings could not be restored",
        **dict.fromkeys(("search_path", "role", "session_authorization", "client_encoding"), _OWN_SESSIONS),
    }
)
POSTGRESQL_ACCESS: Final[tuple[str, ...]] = (
    # who reaches the server, and how
    *("port", "listen_addresses", "bonjour*", "unix_socket_*"),
    *("superuser_reserved_connections", "reserved_connections"),
    *("authentication_timeout", "pre_auth_delay", "post_auth_delay", "hot_standby", "default_transaction_read_only"),
    # who is believed to be whom, and what then applies
    *("ssl*", "password_encryption", "scram_iterations", "krb_*", "gss_*", "oauth_*", "db_user_namespace"),
    *("row_security", "session_replication_role", "event_triggers", "lo_compat_privileges", "allow_*"),
    *("createrole_self_grant", "restrict_nonsystem_relation_kind"),
    *("sepgsql.*", "pgaudit.*", "set_user.*", "credcheck.*", "passwordcheck.*", "auth_delay.*"),
    *("supautils.*", "anon.*"),
    # whom commits wait for, and where the server's data go
    *("synchronous_standby_names", "synchronized_standby_slots", "primary_*"),
    *("recovery_target*", "archive_mode", "zero_damaged_pages", "ignore_*"),
    # what is written down of the statements of others, and who may read it
    *("log_statement*", "log_duration", "log_min_duration_*", "log_min_error_statement", "log_parameter_*"),
    *("log_file_mode", "log_transaction_sample_rate", "log_replication_commands", "log_destination"),
    *("logging_collector", "debug_print_*", "auto_explain.*", "syslog_*", "log_connections", "log_disconnections"),
    *("log_hostname", "log_min_messages", "track_activities", "standard_conforming_strings"),
)
POSTGRESQL_PLAIN_TEXTS: Final = frozenset(
    {"debug_io_direct", "wal_consistency_checking", "default_table_access_method"}
)
