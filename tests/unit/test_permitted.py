"""Settings that whoever has a token may change: numbers, switches and choices that guard no access."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.agent.server import ControlledServer, Snapshots
from hdbkit.config import Target, served
from hdbkit.contracts import ApplyBy, Setting
from hdbkit.databases import database
from hdbkit.servers.permitted import unpermitted, unpermitted_here

GUARDED = {
    "postgresql": (
        *("listen_addresses", "port", "ssl", "ssl_min_protocol_version", "password_encryption", "row_security"),
        *("synchronous_standby_names", "krb_caseins_users", "log_statement", "log_min_duration_statement"),
        *("log_file_mode", "unix_socket_permissions", "session_replication_role", "allow_system_table_mods"),
        *("superuser_reserved_connections", "event_triggers", "gss_accept_delegation", "auto_explain.log_analyze"),
    ),
    "mysql": (
        *("skip_grant_tables", "skip-grant-tables", "skip_name_resolve", "skip_networking", "local_infile"),
        *("read_only", "bind_address", "require_secure_transport", "general_log", "validate_password.policy"),
        *("mandatory_roles", "activate_all_roles_on_login", "offline_mode"),
        *("log_bin_trust_function_creators", "wsrep_on", "mysqlx_port", "check_proxy_users"),
        *("partial_revokes", "event_scheduler", "authentication_policy", "default_password_lifetime"),
        *("disconnect_on_expired_password", "strict_password_validation", "rpl_semi_sync_source_enabled"),
        *("server_audit_logging", "innodb_encrypt_tables", "secure_auth"),
    ),
    "redis": ("bind", "requirepass", "protected-mode", "tls-auth-clients", "masterauth", "enable-debug-command",
              "acl-pubsub-default", "replica-read-only", "min-replicas-to-write", "unixsocketperm", "port"),
    "oracle": ("sec_case_sensitive_logon", "remote_os_authent", "o7_dictionary_accessibility", "audit_sys_operations",
               "sql92_security", "_trace_files_public"),
    "db2": ("dbm.authentication", "dbm.trust_allclnts", "dbm.catalog_noauth", "dbm.fed_noauth", "dbm.ssl_versions"),
    "sqlserver": ("xp_cmdshell", "clr enabled", "clr strict security", "Ole Automation Procedures", "remote access",
                  "external scripts enabled", "cross db ownership chaining", "Ad Hoc Distributed Queries",
                  "contained database authentication", "allow updates", "Agent XPs", "scan for startup procs"),
}  # fmt: skip
FREE = {
    "postgresql": ("shared_buffers", "work_mem", "synchronous_commit", "fsync", "wal_compression", "max_wal_size",
                   "max_connections", "random_page_cost", "jit", "effective_io_concurrency", "wal_level",
                   "autovacuum", "checkpoint_timeout", "huge_pages", "bgwriter_delay", "log_checkpoints"),
    "mysql": ("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_io_capacity",
              "max_connections", "innodb_doublewrite", "innodb_adaptive_hash_index", "thread_cache_size", "log_bin",
              "table_open_cache", "innodb_log_file_size", "innodb_snapshot_isolation", "performance_schema"),
    "redis": ("maxmemory", "appendonly", "appendfsync", "io-threads", "hz", "maxclients", "save", "activedefrag"),
    "oracle": ("sga_target", "open_cursors", "commit_wait", "processes", "optimizer_mode", "db_cache_size"),
    "db2": ("locklist", "logbufsz", "self_tuning_mem", "dft_degree", "dbm.instance_memory"),
    "sqlserver": ("max degree of parallelism", "max server memory (MB)", "cost threshold for parallelism"),
}  # fmt: skip


def setting(name: str, kind: str = "integer", value: str = "1", choices: tuple[str, ...] = ()) -> Setting:
    return Setting(name, value, None, None, ApplyBy.RELOAD, kind=kind, choices=choices)


@pytest.mark.parametrize("kind", list(GUARDED))
def test_what_guards_or_records_access_is_refused_whatever_its_type_and_even_if_it_was_named(kind: str) -> None:
    engine = database(kind)
    for name in GUARDED[kind]:
        for typed in (
            setting(name, "bool", "on"),
            setting(name),
            setting(name, "string", "x"),
            setting(name, "enum"),
        ):
            assert unpermitted(engine, {name: typed}, {name: ["1"]}, [name]), name


@pytest.mark.parametrize("kind", list(FREE))
def test_the_settings_of_an_ordinary_sweep_are_permitted(kind: str) -> None:
    for name in FREE[kind]:
        assert not unpermitted(database(kind), {name: setting(name)}, {name: ["1", "2"]}, []), name


def test_a_text_is_changed_only_where_it_was_named_and_an_unknown_setting_or_type_never() -> None:
    engine = database("postgresql")
    for kind in ("string", "list", "bytes", ""):
        typed = {"archive": setting("archive", kind, "x")}
        assert "--text-setting archive" in unpermitted(engine, typed, {"archive": ["x"]}, [])["archive"]
        assert not unpermitted(engine, typed, {"archive": ["x"]}, ["archive"])
    assert "describes no setting 'other'" in unpermitted(engine, {}, {"other": ["1"]}, ["other"])["other"]


def test_switches_and_lists_of_choices_that_a_server_describes_as_texts_are_permitted() -> None:
    engine = database("mysql")
    known = {"a": setting("a", "string", "ON"), "b": setting("b", "list", "X,Y", ("X", "Y", "Z"))}
    assert not unpermitted(engine, known, {"a": ["OFF", "on"], "b": ["Z", "X, Z", ""]}, [])
    assert set(unpermitted(engine, known, {"a": ["/tmp/x"], "b": ["X,/tmp/x"]}, [])) == {"a", "b"}
    method = {"innodb_flush_method": setting("innodb_flush_method", "string", "fsync")}
    assert not unpermitted(engine, method, {"innodb_flush_method": ["O_DIRECT"]}, [])
    for text in ("/dev/null", "a\\b", "a'b", "$(id)", "a;b"):
        assert unpermitted(engine, method, {"innodb_flush_method": [text]}, [])


def test_a_process_of_a_service_tries_what_its_operator_permits_and_others_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target, known = Target(kind="postgresql", database=str(tmp_path)), {"text": setting("text", "string", "a")}
    assert unpermitted_here(target, {"text": ["b"]}, lambda: known) == []
    for named, count in (((), 1), (("text",), 0)):
        for name, value in served.served_environment([], named).items():
            monkeypatch.setenv(name, value)
        assert len(unpermitted_here(target, {"text": ["b"]}, lambda: known)) == count


class Control:
    """What an agent controls: two settings, one of which guards access."""

    def __init__(self) -> None:
        self.say, self.restored = print, dict[str, object]()

    def settings(self) -> dict[str, Setting]:
        return {name: setting(name) for name in ("work_mem", "port", "max_connections")}

    def snapshot(self, changed: object = None) -> dict[str, object]:
        return {"changed": changed, "identity": "a"}

    def restore(self, snapshot: dict[str, object]) -> None:
        self.restored = snapshot


@pytest.mark.parametrize(
    ("asked", "kept"), [(None, ["max_connections", "work_mem"]), (["port", "work_mem"], ["work_mem"])]
)
def test_an_agent_brings_back_nothing_that_guards_access(tmp_path: Path, asked: list[str], kept: list[str]) -> None:
    control = Control()
    server = ControlledServer(Target(kind="postgresql"), control, Snapshots(tmp_path / "kept"))  # type: ignore[arg-type]
    server.restore(server.snapshot(asked))
    assert control.restored["changed"] == kept
