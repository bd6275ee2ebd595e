"""Settings of MySQL and MariaDB that hdbkit never changes, and that whoever has a token does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ADDRESS, _FILES = "clients would lose the server", "the server would look for its files elsewhere"
_OWN_SESSIONS = "its own sessions set it"
PROTECTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("port", "socket", "bind_address", "skip_networking", "require_secure_transport"), _ADDRESS),
        **dict.fromkeys(("extra_port", "admin_address", "admin_port"), _ADDRESS),
        **dict.fromkeys(("mysqlx_port", "mysqlx_socket", "mysqlx_bind_address"), _ADDRESS),
        **dict.fromkeys(("datadir", "basedir", "plugin_dir", "pid_file", "innodb_data_home_dir"), _FILES),
        **dict.fromkeys(("innodb_data_file_path", "innodb_log_group_home_dir", "innodb_undo_directory"), _FILES),
        **dict.fromkeys(
            ("innodb_page_size", "lower_case_table_names"), "the data were created with its present value"
        ),
        "skip_name_resolve": "accounts that are defined by a host name would be locked out",
        "persisted_globals_load": "the settings could not be restored",
        **dict.fromkeys(("autocommit", "sql_mode", "character_set_client", "character_set_results"), _OWN_SESSIONS),
    }
)
ACCESS: Final[tuple[str, ...]] = (
    # who reaches the server, and how
    *("port", "socket", "bind_address", "skip_networking", "skip_name_resolve", "skip_show_database", "named_pipe*"),
    *("shared_memory*", "extra_port", "extra_max_connections", "admin_*", "mysqlx*", "proxy_protocol_*", "report_*"),
    *("max_user_connections", "max_password_errors", "max_connect_errors", "create_admin_listener_thread"),
    *("offline_mode", "read_only", "super_read_only", "innodb_read_only", "innodb_force_recovery", "tx_read_only"),
    *("transaction_read_only", "persist_only_admin_x509_subject", "connection_control*"),
    # who is believed to be whom, and what then applies
    *("skip_grant_tables", "require_secure_transport", "ssl*", "tls*", "*_ssl_*", "*_tls_*", "have_*", "secure_*"),
    *("*password*", "authentication*", "*_authentication_*", "caching_sha2*", "sha256*", "mysql_native*", "ed25519*"),
    *("*validation*", "cracklib*", "check_proxy_users", "mandatory_roles", "activate_all_roles_on_login"),
    *("automatic_sp_privileges", "partial_revokes", "log_bin_trust_function_creators", "sql_require_primary_key"),
    *("event_scheduler", "allow_*", "local_infile", "symbolic_links", "mysql_firewall_*", "pam_*"),
    *("old_passwords", "enforce_*", "restrict_*", "keyring*", "*encrypt*", "*redaction*", "version_tokens*"),
    # whom commits wait for, and where the server's data go
    *("wsrep*", "group_replication*", "replicate_*", "slave_*", "replica_*", "rpl_*", "gtid_*"),
    *("clone*", "feedback*"),
    *("sql_log_bin", "sql_log_off", "relay_log*"),
    # what is written down of the statements of others
    *("general_log*", "slow_query_log*", "log_slow_query*", "log_output", "log_raw", "log_queries_*", "log_error*"),
    *("log_slow_admin_statements", "log_slow_slave_statements", "log_slow_replica_statements", "log_syslog*"),
    *(
        "log_warnings",
        "log_*disabled_statements",
        "server_audit*",
        "audit*",
        "sql_error_log*",
        "query_response_time*",
        "core_file",
        "*in_core_*",
    ),
)
PLAIN_TEXTS: Final = frozenset(
    {
        *("optimizer_switch", "optimizer_trace", "innodb_flush_method", "innodb_change_buffering", "binlog_format"),
        *("binlog_row_image", "binlog_row_metadata", "binlog_checksum", "transaction_isolation", "tx_isolation"),
        *("innodb_checksum_algorithm", "innodb_default_row_format", "innodb_doublewrite", "innodb_stats_method"),
        *("internal_tmp_mem_storage_engine", "concurrent_insert", "delay_key_write", "myisam_stats_method"),
        *("innodb_compression_algorithm", "thread_handling", "use_stat_tables", "query_cache_type"),
    }
)
