"""What code asks of an engine by name: the declared list of operations.

An engine provides an operation by a statement of its name in ``schemas/``, or its sessions answer it themselves
(``Database.answers``), or the engine implements the method of :class:`hdbkit.contracts.Database` that would ask it.
``OPERATIONS`` has what the core asks; each workload declares its own in ``workloads/<workload>/contract.py``.
Statements that only the module of an engine uses are the engine's own and are not declared.

``hdbkit engine operations`` prints the list; ``hdbkit engine check`` compares an engine with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from hdbkit.awaiting import ANSWER_LIMIT_S
from hdbkit.contracts.sessions import Capability
from hdbkit.readings import SERVER_TOTALS, STATEMENT_TOTALS
from hdbkit.statement import Statement

_ANY = re.compile(r"<\w+>")


@dataclass(frozen=True)
class Operation:
    """An operation or statement that code asks for by name; ``<word>`` in the name stands for any name."""

    name: str
    purpose: str
    parameters: tuple[str, ...] = ()
    """The names that it is given: values, and identifiers that are inserted into its text."""
    columns: tuple[str, ...] = ()
    """The columns of its answer, in order; empty if nothing is read from it."""
    needs: frozenset[Capability] = frozenset()
    """It is asked of engines with all these capabilities."""
    without: str = ""
    """What is missing on an engine that lacks it; empty if the operation is required."""
    method: str = ""
    """The method of ``Database`` that asks it; an engine that implements this method needs no such operation."""
    takes_long: bool = False
    """Whether it works for as long as the data demand; all others are to be answered within a minute."""
    in_order: bool = False
    """Whether its values are given in the order of ``parameters``, which is that of their first use in the text."""

    @property
    def required(self) -> bool:
        """Whether an engine with its capabilities must have it."""
        return not self.without

    def matches(self, name: str) -> bool:
        """Whether this is the operation of that name."""
        return self._pattern.fullmatch(name) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(r"\w+".join(map(re.escape, _ANY.split(self.name))))


def declared(operations: Iterable[Operation], name: str) -> Operation | None:
    """The operation of that name; None if it is not declared."""
    return next((one for one in operations if one.matches(name)), None)


def answer_limit_s(name: str, own: Mapping[str, Statement]) -> float | None:
    """How long a session's question may take; None for statements of a workload, its ``own``, and for long ones."""
    return None if name in own or _takes_long(name) else ANSWER_LIMIT_S


@cache
def _takes_long(name: str) -> bool:
    found = declared(OPERATIONS, name)
    return found is not None and found.takes_long


_SQL: Final = frozenset({Capability.SQL})
_OWN_SCHEMA: Final = _SQL | {Capability.SCHEMAS}
_SETTINGS: Final = frozenset({Capability.SETTINGS})
_DATA: Final = _SETTINGS | {Capability.SERVER}
_EXPLAINED: Final = frozenset({Capability.PLANS})

_ABOUT_THE_SERVER: Final = (
    Operation(
        "server_version",
        "the version of the server, in one line",
        columns=("version",),
        without="results do not state the server's version",
        method="version",
    ),
    Operation(
        "role",
        "whether the server accepts changes: primary, standby or read-only",
        columns=("role",),
        without="a standby is taken for a primary",
        method="role",
    ),
    Operation(
        "read_only_by",
        "which setting makes the transactions of an account read-only, and who sets it; no row if none does",
        columns=("sentence",),
        without="the reason why a server accepts no changes is unknown",
        method="read_only_by",
    ),
    Operation(
        "free_connections",
        "how many more connections the account may open; the smallest column applies, null is no limit",
        columns=("limit", "..."),
        without="too many virtual users are only noticed when they connect",
        method="free_connections",
    ),
    Operation(
        "statement_limit",
        "the limit of statements that all sessions have prepared, those in use, and those of this session",
        columns=("setting", "limit", "used", "of_session"),
        without="too many prepared statements are only noticed when virtual users connect",
        method="statement_limit",
    ),
    Operation(
        "timeouts",
        "the timeouts of this session: what each ends, after how long, and who set it",
        columns=("ends", "milliseconds", "setter"),
        without="a timeout that ends long checks or builds is not reported",
        method="timeouts",
    ),
    Operation(
        "disturbing_settings",
        "settings whose values disturb runs",
        columns=("name", "value", "effect"),
        without="runs carry no warning about such settings",
        method="disturbances",
    ),
    Operation(
        "write_cycle",
        "the cycle in which the server writes changed pages to its files",
        columns=("setting", "value", "seconds"),
        without="a run that is shorter than the cycle carries no warning",
        method="write_cycle",
    ),
    Operation(
        "clock",
        "the server's time",
        columns=("seconds since 1970",),
        without="a wrong clock of the server is not reported",
        method="clock_s",
    ),
    Operation(
        "long_answer",
        "a text of so many bytes, whose time gives the bandwidth between client and server",
        parameters=("size",),
        columns=("text",),
        without="the bandwidth between client and server is not measured",
        method="long_answer",
    ),
    Operation(
        "counters",
        "running totals and gauges of the server, a row for each",
        columns=("name", "value"),
        without="runs have no counters of the server, and no engine TPM",
        method="counters",
    ),
    Operation(
        "recent_events",
        "what the server did in the last minute, as it keeps the times of that, such as checkpoints",
        columns=("kind", "text", "age in seconds"),
        without="events of a run are those that its counters show",
        method="recent_events",
    ),
    Operation(
        "footprint",
        "the size of the data, the setting that sizes the cache, and the size of the cache",
        columns=("data bytes", "setting", "cache bytes"),
        without="results do not state whether the data fit into the cache",
        method="footprint",
    ),
    Operation(
        "advised_grants",
        "privileges that the account lacks",
        columns=("command", "what is missing without it"),
        without="doctor does not report missing privileges",
        method="advised_grants",
    ),
    Operation(
        "read_settings",
        "every setting of the server; changed: set explicitly",
        columns=("name", "value", "unit", "default", "changed"),
        without="runs do not record the server's settings",
        method="settings_of",
    ),
)

_LOCKS: Final = (
    Operation(
        "lock_holders",
        "what a session waits for and who holds it, a row for each holder; number 0: the account's sessions of "
        "hdbkit; null or empty is unknown",
        parameters=("number",),
        columns=("waits for", "holder", "account", "application", "state", "age of the transaction in seconds"),
        without="a wait for a lock is reported without its holder",
        method="lock_holders",
    ),
    Operation(
        "lock_holders_plain",
        "the same without what an account seldom may read; asked where lock_holders has no answer",
        parameters=("number",),
        columns=("waits for", "holder", "account", "application", "state", "age of the transaction in seconds"),
        without="an account that may not read all of lock_holders learns nothing",
        method="lock_holders",
    ),
    Operation(
        "cancel_statement",
        "end what another session of this account executes; asked where the driver itself cannot cancel",
        parameters=("number",),
        without="a statement that is stopped while it waits may still be executed by the server later",
    ),
)

_SNAPSHOTS: Final = (
    Operation(
        "take_snapshot",
        "a snapshot of what the server itself records about its work; asked where a target wants them",
        columns=("number",),
        without="the server takes no snapshots for a run",
        takes_long=True,
    ),
)

_CACHE: Final = (
    Operation(
        "flush_cache",
        "empty the server's cache of pages",
        without="the load option cache: flush is refused",
        takes_long=True,
    ),
)

_WAITS: Final = (
    Operation(
        "session_number",
        "the number of this session in session_waits",
        columns=("number",),
        without="what sessions wait for is not known by transaction",
    ),
    Operation(
        "session_threads",
        "the operating system's thread, or process, of each session; no row if a session has none of its own",
        columns=("number", "thread"),
        without="the CPU time of sessions is unknown, only that of the whole server",
    ),
    Operation(
        "session_waits",
        "the sessions that work or wait; class: running, lock, log, disk, latch, client, other; own: this one",
        columns=("number", "class", "event", "table", "blocked by", "own"),
        without="results do not state what sessions wait for",
    ),
    Operation(
        "session_waits_plain",
        "the same without what an account seldom may read; asked where the server denies session_waits",
        columns=("number", "class", "event", "table", "blocked by", "own"),
        without="an account that may not read all of session_waits samples nothing",
    ),
    Operation(
        "session_waits_full",
        "session_waits with what the server records on request alone; asked in its place with waits=full. Of samples "
        "that the server took itself: those of the last interval, with their ages in seconds",
        parameters=("interval_s",),
        columns=("number", "class", "event", "table", "blocked by", "own", "age in seconds"),
        without="waits=full is refused",
    ),
    Operation(
        "full_waits_obstacle",
        "why session_waits_full cannot be asked, and what to do; no row if nothing prevents it",
        columns=("reason",),
        without="nothing is known to prevent session_waits_full",
    ),
    Operation(
        "wait_instruments_off",
        "what session_waits_full needs and the server does not record now",
        columns=("name",),
        without="session_waits_full needs nothing to be enabled",
    ),
    Operation(
        "set_wait_instruments",
        "have the server record it (YES) or not (NO); names are separated by commas",
        parameters=("enabled", "names"),
        without="session_waits_full needs nothing to be enabled",
    ),
)

_SLOW_PLANS: Final = (
    Operation(
        "slow_plans_obstacle",
        "why plans of slow executions cannot be reported; no row if nothing prevents it",
        columns=("reason",),
        needs=frozenset({Capability.SLOW_PLANS}),
    ),
)

_STATEMENTS: Final = (
    Operation(
        "counts_statements",
        "the name of the statement that has them, statement_totals or another; no row if the server keeps none",
        columns=("statement",),
        without="results do not state what each statement did",
    ),
    Operation(
        "statement_totals",
        "running totals by statement: executions, time in ms, rows returned or changed, rows and pages read, pages "
        "read from files, bytes of log; null is unknown",
        columns=("statement", "text", *SERVER_TOTALS),
        without="results do not state what each statement did",
    ),
    Operation(
        "statement_totals_with_cpu",
        "the same with CPU time in ms, and bytes read from disks and written to them",
        columns=("statement", "text", *STATEMENT_TOTALS),
        without="results do not state the CPU time of statements",
    ),
)

_PLANS: Final = (
    Operation(
        "explain_text",
        "the optimizer's plan of a statement, in lines for readers",
        ("statement",),
        columns=("...", "line"),
        needs=_EXPLAINED,
    ),
    Operation(
        "explain_json",
        "the same for programs, as JSON or XML, in one row",
        ("statement",),
        columns=("...", "JSON"),
        needs=_EXPLAINED,
        without="plans are kept as text alone",
    ),
    Operation(
        "explain_generic",
        "the plan of a statement for all values, whose places are $1 and so on",
        ("statement",),
        columns=("line",),
        needs=_EXPLAINED,
        without="plans are those for the values of examples",
    ),
)

_WORK_READ: Final = ("rows read", "bytes read", "temporary files")
_WORK: Final = (
    Operation("publish_work", "make what this session has done part of what work_of_server reports", needs=_SQL),
    Operation(
        "work_of_server",
        "what the server's database has read since it was started, while this session alone works; null is unknown",
        columns=_WORK_READ,
        needs=_SQL,
    ),
    Operation(
        "work_of_session",
        "what this session has read since it was opened; null is unknown",
        columns=_WORK_READ,
        needs=_SQL,
    ),
)

_SCHEMA: Final = (
    Operation("list_tables", "the tables of the session's schema", columns=("name",), needs=_SQL),
    Operation("list_indexes", "the indexes of the session's schema", columns=("name",), needs=_SQL),
    Operation(
        "list_routines",
        "the stored routines of the session's schema",
        columns=("name",),
        needs=_SQL | {Capability.STORED_ROUTINES},
    ),
    Operation(
        "list_objects",
        "what the session's schema consists of, with a text that changes when the definition of an object does",
        columns=("kind", "name", "definition"),
        needs=_SQL,
        without="of a schema that is changed in a run, only tables, indexes and routines with new names are noticed",
        method="schema_objects",
    ),
    Operation("schema_exists", "whether the session's schema exists", columns=("exists",), needs=_OWN_SCHEMA),
    Operation("create_schema", "create a schema", ("schema",), needs=_OWN_SCHEMA),
    Operation(
        "drop_schema", "drop an empty schema; others are an error", ("schema",), needs=_OWN_SCHEMA, takes_long=True
    ),
    Operation("drop_table", "drop a table", ("table",), needs=_SQL, takes_long=True),
    Operation(
        "empty_table",
        "remove all rows of a table; hdbkit uses it on tables of its own tests",
        ("table",),
        needs=_SQL,
        takes_long=True,
    ),
    Operation("create_build", "create the tables of the build record", needs=_SQL),
    Operation(
        "demanded_keys",
        "the setting by which the server refuses tables without a primary key; no row if it takes them",
        columns=("setting",),
        needs=_SQL,
        without="a server that refuses such tables does so in the middle of a build",
    ),
    Operation("drop_build", "drop them", needs=_SQL, takes_long=True),
    Operation("insert_build_spec", "record what is built, as not complete", ("spec",), needs=_SQL),
    Operation("update_build_spec", "replace it, as not complete", ("spec",), needs=_SQL),
    Operation("select_build_spec", "what is built", columns=("spec",), needs=_SQL),
    Operation("insert_build_part", "record a loaded part", ("part", "rows"), needs=_SQL),
    Operation("delete_build_part", "remove one from the record", ("part",), needs=_SQL),
    Operation("select_build_parts", "the loaded parts", columns=("part", "rows"), needs=_SQL),
    Operation("finish_build", "record that the build is complete", needs=_SQL),
    Operation("select_build_finished", "whether the build is complete", columns=("finished",), needs=_SQL),
    Operation(
        "insert_row", "the beginning of an INSERT of one row, for bulk loads", ("table", "columns"), needs=_SQL
    ),
    Operation(
        "claim_schema",
        "reserve the schema for this transaction, without waiting",
        columns=("claimed",),
        needs=_SQL,
        without="two builds of one schema can run at once, and one of them fails",
    ),
    Operation(
        "lift_limits",
        "no timeout of the account ends what this session does, or the session while it waits",
        needs=_SQL,
        without="a timeout of the server can end a long build or check",
        method="lift_limits",
    ),
    Operation(
        "analyze",
        "update the optimizer's statistics of a table after its load",
        ("table",),
        needs=_SQL,
        without="a build leaves the statistics to the server",
        takes_long=True,
    ),
    Operation(
        "update_statistics",
        "the same on request, before a run",
        ("table",),
        needs=_SQL,
        without="--analyze is refused",
        takes_long=True,
    ),
    Operation(
        "list_unanalyzed",
        "tables without useful statistics",
        columns=("table", "reason"),
        needs=_SQL,
        without="runs on missing or stale statistics carry no warning",
    ),
    Operation(
        "list_not_analyzable",
        "which of these tables, separated by commas, the account may not analyze, and the GRANT that permits it",
        ("tables",),
        columns=("table", "grant"),
        needs=_SQL,
        without="the server itself must refuse to analyze them",
    ),
    Operation(
        "use_<option>",
        "apply an option of the schema to what the session creates; one for each option of the engine",
        ("<option>",),
        needs=_SQL,
        without="the engine has no such option, or it is part of a statement",
    ),
    Operation(
        "make_<option>",
        "apply an option of the schema to a new table; one for each option of the engine that changes tables",
        ("table",),
        needs=_SQL,
        without="the engine has no such option, or it is part of a statement",
        takes_long=True,
    ),
)

_CONTROL: Final = (
    Operation(
        "control_settings",
        "every setting, as this session sees it",
        columns=(
            *("name", "value", "unit", "default", "apply by", "minimum", "maximum", "choices", "kind"),
            *("description", "shown", "winner", "waiting"),
        ),
        needs=_SETTINGS,
    ),
    Operation("set_setting", "set a setting for all sessions", ("name", "value", "apply_by"), needs=_SETTINGS),
    Operation("reset_setting", "remove a changed setting from the server's file", ("name",), needs=_SETTINGS),
    Operation("set_in_session", "set a setting for this session", ("name", "value"), needs=_SETTINGS),
    Operation("reload_settings", "make the server read its settings", needs=_SETTINGS),
    Operation(
        "settings_loaded_at",
        "when the server read its settings, and when it was started, as ascending numbers",
        columns=("loaded", "started"),
        needs=_SETTINGS,
    ),
    Operation("file_entries", "the settings that were changed by SQL", columns=("name", "value"), needs=_SETTINGS),
    Operation(
        "settings_file",
        "the file in which the server keeps changed settings; no row if it keeps none",
        columns=("path",),
        needs=_SETTINGS,
    ),
    Operation(
        "server_identity",
        "what identifies the server and its data, for journals",
        columns=("identity",),
        needs=_SETTINGS,
    ),
    Operation(
        "running_settings",
        "the values that the server runs with, and whether a restart loses them; no row if a file has them",
        columns=("name", "value", "lost"),
        needs=_SETTINGS,
    ),
    Operation("set_running_setting", "set a value on the running server", ("name", "value"), needs=_SETTINGS),
    Operation(
        "grants_to_set",
        "the commands that let the account change settings; no row if it may",
        columns=("command",),
        needs=_SETTINGS,
        without="a missing privilege is not reported before the first run",
        method="missing_grants",
    ),
    Operation("remove_old_rows", "remove row versions that nobody can see", needs=_SETTINGS, takes_long=True),
    Operation("checkpoint", "write all changed pages to the files", needs=_SETTINGS, takes_long=True),
    Operation(
        "rest_settings",
        "settings that speed up background work between runs; no row if there is none",
        columns=("name", "value"),
        needs=_SETTINGS,
    ),
    Operation(
        "rest_left",
        "the background work that remains; shown around maintenance, and awaited where rest_settings has rows",
        columns=("name", "amount"),
        needs=_SETTINGS,
        without="the server has finished once its checkpoint has",
    ),
    Operation(
        "try_setting",
        "change a setting to its own value; asked where control_settings does not state how changes apply",
        ("name",),
        needs=_SETTINGS,
        without="control_settings must state how each change applies",
    ),
)

_KEEP = "a sweep cannot restore the data by SQL; a launcher may copy files instead"
_COPIES: Final = (
    Operation(
        "database_exists",
        "a row if there is such a database",
        ("database_name",),
        columns=("exists",),
        needs=_DATA,
        without=_KEEP,
    ),
    Operation("copy_alone", "wait until no other session copies", needs=_DATA, without=_KEEP, takes_long=True),
    Operation(
        "copy_database", "copy a database", ("copy", "original", "owner"), needs=_DATA, without=_KEEP, takes_long=True
    ),
    Operation("close_database", "allow no connection to a copy", ("copy",), needs=_DATA, without=_KEEP),
    Operation(
        "remove_database", "drop a copy, if there is one", ("copy",), needs=_DATA, without=_KEEP, takes_long=True
    ),
    Operation(
        "end_other_sessions",
        "end all other sessions on a database",
        ("database_name",),
        needs=_DATA,
        without=_KEEP,
        takes_long=True,
    ),
)

SUBJECTS: Final = {
    "server": _ABOUT_THE_SERVER,
    "waits for locks": _LOCKS,
    "snapshots on request": _SNAPSHOTS,
    "cache": _CACHE,
    "waits of sessions": _WAITS,
    "plans of slow executions": _SLOW_PLANS,
    "statements": _STATEMENTS,
    "plans of queries": _PLANS,
    "work of queries": _WORK,
    "schema": _SCHEMA,
    "settings": _CONTROL,
    "copies of data": _COPIES,
}
"""What the core asks, by subject."""
OPERATIONS: Final = tuple(one for subject in SUBJECTS.values() for one in subject)
"""What the core asks."""
