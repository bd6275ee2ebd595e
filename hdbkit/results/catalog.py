"""The catalog: an index of the run folders in one SQLite file, which can be rebuilt from the folders at any time.

Each query updates the index: changed manifests are read again, newest first, missing folders are removed, and damaged
ones are skipped and reported. A query may limit the time for that; it then lists what the index has.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import irregular_entry, private
from hdbkit.later import pandas as pd
from hdbkit.plan import RunPlan
from hdbkit.results.differences import OWN_VALUES, settings_of
from hdbkit.results.folder import RunFolder, manifest_times, only_match, run_folders
from hdbkit.results.manifest import Manifest, Status

_COLUMNS = {
    "run_id": "TEXT PRIMARY KEY",
    "started": "TEXT",
    "status": "TEXT",
    "database": "TEXT",
    "version": "TEXT",
    "target": "TEXT",
    "workload": "TEXT",
    "scale": "TEXT",
    "virtual_users": "INTEGER",
    "duration_s": "REAL",
    "metric": "TEXT",
    "metric_value": "REAL",
    "operations_per_s": "REAL",
    "engine_tpm": "REAL",
    "p95_us": "REAL",
    "mean_us": "REAL",
    "cpu_pct": "REAL",
    "memory_used_bytes": "REAL",
    "disk_read_bytes_per_s": "REAL",
    "disk_write_bytes_per_s": "REAL",
    "failed": "INTEGER",
    "checks_failed": "INTEGER",
    "label": "TEXT",
    "experiment_id": "TEXT",
    "tags": "TEXT",
    "note": "TEXT",
}
_OF_HOST = ("cpu_pct", "memory_used_bytes", "disk_read_bytes_per_s", "disk_write_bytes_per_s")
_LISTED = 10
"""How many runs of an ambiguous label are listed."""
_IN_MEMORY = Path(":memory:")
_HIDDEN = {"options": "TEXT", "settings": "TEXT", "changed_ns": "INTEGER"}
"""Internal columns: options of schema and load and settings of the server as JSON, the manifest's last change."""
_DETAILS = ["options", "settings"]
_INDEX_VERSION = 5
"""Changes with the content of the rows: an index of another version is rebuilt."""
_BATCH = 100
"""How many manifests are read at a time: each batch is kept, and ends the reading once its time is up."""
_READING = threading.Lock()
"""Held for each batch, so that threads of a process that read the same folders share the work."""
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?P<quoted>(?:[^"]|"")*)" | `[^`]*` | \[[^\]]*\] | --[^\n]* | /\*.*?\*/ | \w+ | .""",
    re.DOTALL | re.VERBOSE,
)
"""Texts, quoted names, comments and words of SQL; all else is single characters."""
_QUERIES = frozenset({"SELECT", "VALUES", "WITH"})
# fmt: off
_FUNCTIONS = frozenset({
    "abs", "coalesce", "date", "datetime", "glob", "iif", "ifnull", "instr", "json_extract", "json_remove",
    "julianday", "length", "like", "lower", "ltrim", "max", "min", "nullif", "round", "rtrim", "strftime", "substr",
    "substring", "time", "trim", "typeof", "unixepoch", "upper",
})
# fmt: on
"""The functions that a condition may call: none makes much out of little, as printf and zeroblob do."""
_REASONS = {
    re.compile(r"no such column: (.+)"): "there is no column {}",
    re.compile(r"not authorized to use function: (.+)"): "the function {} is not permitted",
}
"""Messages of SQLite that give the reason; others quote the rest of the query."""
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class Listing:
    """The selected runs, newest first; a message for each folder that cannot be read; how many are still unread."""

    runs: pd.DataFrame
    damaged: list[str]
    details: pd.DataFrame
    """For each run, as JSON: ``options`` of schema and load without ``OWN_VALUES``, and ``settings`` of the server,
    changed or varied."""
    unread: int = 0
    """New or changed folders for which the time was too short; they are older than those that were read."""


def list_runs(root: Path, where: str | None = None, *, within_s: float | None = None) -> Listing:
    """The runs under ``root``, newest first.

    Args:
        root: the folder of all results.
        where: an SQL condition over the columns, such as ``virtual_users = 8 AND metric_value > 50000``. It may also
            use options of schema and load that any run has (``partitions = 4``, ``mix_payment > 50``), parameters of
            user-defined workloads, and the names of metrics in lower case, which stand for the metric's value.
        within_s: the time for reading new and changed manifests, by default unlimited; at least ``_BATCH`` are read.

    Raises:
        InputError: it is not a valid filter, or names an unknown column.
    """
    if not root.is_dir():
        return Listing(pd.DataFrame(columns=list(_COLUMNS)), [], pd.DataFrame(columns=_DETAILS))
    path = root / "catalog.sqlite"
    if path.is_symlink():
        return _listed(_IN_MEMORY, root, where, within_s)
    try:
        return _listed(path, root, where, within_s)
    except sqlite3.OperationalError:  # disk full or no write permission: use an index in memory
        return _listed(_IN_MEMORY, root, where, within_s)
    except sqlite3.DatabaseError:  # damaged: rebuild it
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        return _listed(path, root, where, within_s)


def find_run(root: Path, word: str) -> RunFolder:
    """The run with this id, a unique part of it, or this label; ``last`` is the newest.

    Accepts the path of a run folder, too. Raises ``InputError`` if there is no such run, or more than one, and
    ``DamagedResult`` if its folder has links or special files in it.
    """
    found = _found(root, word)
    if odd := irregular_entry(found.path):
        raise DamagedResult(f"{odd} is a link or a special file, which no run folder has; the run is not used")
    return found


def _found(root: Path, word: str) -> RunFolder:
    if "/" in word and (Path(word) / "manifest.json").is_file():
        return RunFolder(Path(word).resolve())
    try:
        ids = (one.run_id for one in run_folders(root))
        return RunFolder(root / only_match(ids, word, "run", f"{root}; see: hdbkit runs list"))
    except InputError:
        runs = list_runs(root).runs
        labelled = list(runs.loc[runs["label"] == word, "run_id"])
        if len(labelled) == 1:
            return RunFolder(root / labelled[0])
        if labelled:
            more = f", and {len(labelled) - _LISTED} more" if len(labelled) > _LISTED else ""
            raise InputError(
                f"{len(labelled)} runs have the label '{word}': {', '.join(labelled[:_LISTED])}{more}; give an id"
            ) from None
        raise


def runs_under(root: Path, label: str) -> list[str]:
    """The ids of runs with this label and a result, newest first."""
    runs = list_runs(root).runs
    return list(runs.loc[(runs["label"] == label) & has_value(runs), "run_id"])


def has_value(runs: pd.DataFrame) -> pd.Series[bool]:
    """Which runs have a value that can be compared, 0 included, and have not failed."""
    return (runs["metric_value"] >= 0) & (runs["status"] != Status.FAILED.value)


def profile_tag(name: str) -> str:
    """The tag for runs of a profile."""
    return f"profile:{name}"


def profiles_of(runs: pd.DataFrame, *, finished: bool = True) -> pd.DataFrame:
    """A row for each run, by default only done ones, and each of its profiles: with the column ``profile``."""
    tagged = runs.loc[runs["tags"].str.contains(f'"{profile_tag("")}', regex=False), "tags"]
    tags = tagged.map(json.loads).explode()
    names = tags[tags.astype(str).str.startswith(profile_tag(""))].astype(str).str.removeprefix(profile_tag(""))
    found = runs.join(names.rename("profile"), how="inner")
    return found[(found["status"] == "done") & (found["metric_value"] > 0)] if finished else found


def runs_of_profile(root: Path, name: str) -> list[str]:
    """The ids of runs of a profile with a result, newest first."""
    runs = profiles_of(list_runs(root).runs)
    return list(runs.loc[runs["profile"] == name, "run_id"])


def _listed(path: Path, root: Path, where: str | None, within_s: float | None) -> Listing:
    with closing(_prepared(path)) as catalog:
        damaged, unread = _refresh(catalog, root, within_s)
        runs = _select(catalog, where)
    return Listing(runs.drop(columns=_DETAILS), damaged, runs[_DETAILS], unread)


def _prepared(path: Path) -> sqlite3.Connection:
    if path != _IN_MEMORY:
        with suppress(OSError):  # as without write permission, which SQLite reports
            open(path, "ab", opener=private).close()  # its other files get the same permissions
    catalog = sqlite3.connect(path, timeout=30)
    try:
        catalog.execute("PRAGMA journal_mode = WAL")
        catalog.execute("PRAGMA synchronous = NORMAL")  # no wait for the disk: what a power cut takes is read again
        if not _fits(catalog):
            catalog.execute("BEGIN IMMEDIATE")
            with catalog:
                if not _fits(catalog):  # another thread or process may have made it meanwhile
                    columns = ", ".join(f"{name} {kind}" for name, kind in (_COLUMNS | _HIDDEN).items())
                    catalog.execute("DROP TABLE IF EXISTS runs")
                    catalog.execute(f"CREATE TABLE runs ({columns})")
                    catalog.execute(f"PRAGMA user_version = {_INDEX_VERSION}")
    except sqlite3.DatabaseError:
        catalog.close()
        raise
    return catalog


def _fits(catalog: sqlite3.Connection) -> bool:
    """Whether the index is one of this version."""
    found = [row[1] for row in catalog.execute("PRAGMA table_info(runs)")]
    return found == [*_COLUMNS, *_HIDDEN] and catalog.execute("PRAGMA user_version").fetchone()[0] == _INDEX_VERSION


def _refresh(catalog: sqlite3.Connection, root: Path, within_s: float | None) -> tuple[list[str], int]:
    """Update the index; messages on damaged folders, and the number of folders that are still to be read."""
    until_s = None if within_s is None else time.monotonic() + within_s
    known = dict(catalog.execute("SELECT run_id, changed_ns FROM runs").fetchall())
    times = dict(manifest_times(root))
    if gone := known.keys() - times.keys():
        with catalog:
            catalog.executemany("DELETE FROM runs WHERE run_id = ?", [(name,) for name in gone])
    unread = sorted((name for name, changed_ns in times.items() if known.get(name) != changed_ns), reverse=True)
    damaged = list[str]()
    while unread:
        batch, unread = unread[:_BATCH], unread[_BATCH:]
        with _READING:
            damaged += _read(catalog, root, {name: times[name] for name in batch})
        if until_s is not None and time.monotonic() > until_s:
            break
    return damaged, len(unread)


def _read(catalog: sqlite3.Connection, root: Path, changed_ns: Mapping[str, int]) -> list[str]:
    """Read manifests that were changed at these times, unless another reader has; messages on damaged folders."""
    places = ", ".join("?" * len(changed_ns))
    known = dict(catalog.execute(f"SELECT run_id, changed_ns FROM runs WHERE run_id IN ({places})", [*changed_ns]))  # noqa: S608
    rows, damaged = list[dict[str, Any]](), dict[str, str]()
    for name, at_ns in changed_ns.items():
        if known.get(name) == at_ns:
            continue
        folder = RunFolder(root / name)
        try:
            manifest = folder.read()
            settings = json.dumps(settings_of(folder, manifest.plan))
            rows.append({**_row(manifest), "run_id": name, "settings": settings, "changed_ns": at_ns})
        except DamagedResult as error:
            damaged[name] = str(error)
    names = [*_COLUMNS, *_HIDDEN]
    with catalog:
        catalog.executemany(
            f"INSERT OR REPLACE INTO runs ({', '.join(names)}) VALUES ({', '.join(f':{one}' for one in names)})",  # noqa: S608
            rows,
        )
        catalog.executemany("DELETE FROM runs WHERE run_id = ?", [(name,) for name in damaged])
    return list(damaged.values())


def _row(manifest: Manifest) -> dict[str, Any]:
    plan, result = manifest.plan, manifest.result
    target, load = plan.target, plan.load
    headline = result and result.operations.get(manifest.headline)
    return {
        "started": manifest.history[0].at.isoformat(timespec="seconds") if manifest.history else None,
        "status": manifest.status.value,
        "database": target.kind,
        "version": manifest.server.version,
        "target": f"{target.host or ''}/{target.database or ''}",
        "workload": plan.workload.kind,
        "scale": manifest.scale,
        "virtual_users": load.virtual_users,
        "duration_s": load.duration_s,
        "metric": manifest.metric.name,
        "metric_value": manifest.metric_value,
        "operations_per_s": result and result.operations_per_s,
        "engine_tpm": result and result.engine_tpm,
        "p95_us": headline and headline.p95_us,
        "mean_us": result and result.mean_us,
        **(result.host_use if result else dict.fromkeys(_OF_HOST)),
        "failed": result and result.failed,
        "checks_failed": sum(check.passed is False for check in manifest.checks),
        "label": plan.label,
        "experiment_id": plan.experiment and plan.experiment.experiment_id,
        "tags": json.dumps(manifest.tags),
        "note": manifest.note,
        "options": json.dumps(_options(plan, manifest.mix)),
    }


def rows_of(runs: Sequence[tuple[RunFolder, Manifest]]) -> Listing:
    """Runs as the catalog would list them, wherever their folders are."""
    rows = [
        {**_row(one), "run_id": one.run_id, "settings": json.dumps(settings_of(folder, one.plan))}
        for folder, one in runs
    ]
    return Listing(pd.DataFrame(rows, columns=[*_COLUMNS]), [], pd.DataFrame(rows, columns=_DETAILS))


def _options(plan: RunPlan, mix: dict[str, float]) -> dict[str, Any]:
    """The options that a condition can compare: those of the engine and parameters by their own names.

    The weight of an operation is ``mix_`` and its name. An option takes precedence over a parameter of the same name.
    """
    workload, load = plan.workload.model_dump(mode="json"), plan.load.model_dump(mode="json")
    parameters = _entries(_entries(workload, "definition"), "parameters") | _entries(workload, "parameters")
    weights = {f"mix_{name}": weight for name, weight in mix.items()}
    return _scalars(parameters | weights | _entries(workload, "storage") | workload | load)


def _entries(options: dict[str, Any], name: str) -> dict[str, Any]:
    """The entries of an option that has some, else none."""
    value = options.get(name)
    return value if isinstance(value, dict) else {}


def _scalars(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if isinstance(value, str | int | float | bool)}


def _select(catalog: sqlite3.Connection, where: str | None) -> pd.DataFrame:
    more = {} if where is None else _more_columns(catalog)
    columns = ", ".join(["*", *(f'{text} AS "{name}"' for name, text in more.items())])
    wanted = {name: name for name in (*_COLUMNS, *_DETAILS)}
    for name in OWN_VALUES:  # so that most runs have the same text
        wanted["options"] = f"json_remove({wanted['options']}, '$.{name}')"
    condition = f"WHERE ({where})" if where else ""
    try:
        _require_one_condition(where or "", {*_COLUMNS, *more})
        catalog.set_authorizer(_permitted)
        cursor = catalog.execute(
            f"SELECT {', '.join(wanted.values())} FROM (SELECT {columns} FROM runs) {condition} ORDER BY run_id DESC"  # noqa: S608
        )
        return pd.DataFrame(cursor.fetchall(), columns=list(wanted))
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
        known = ((pattern.fullmatch(str(error)), text) for pattern, text in _REASONS.items())
        why = next((f" ({text.format(found[1])})" for found, text in known if found), "")
        raise InputError(
            f"'{where}' is not a valid filter of runs{why}; example: virtual_users = 8; columns: "
            f"{', '.join([*_COLUMNS, *more])}"
        ) from None


def _permitted(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    """Whether the query of a list may do this: read, and call the functions of the list."""
    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    calls = action == sqlite3.SQLITE_FUNCTION and str(name).lower() in _FUNCTIONS
    return sqlite3.SQLITE_OK if reads or calls else sqlite3.SQLITE_DENY


def _require_one_condition(where: str, known: Set[str]) -> None:
    """Refuse what SQLite accepts beyond one condition over columns.

    That is an unknown name in quotes, which it takes for text, a query, and parentheses that close ours.

    Raises:
        ValueError: it is more than a condition, or names an unknown column.
    """
    depth = 0
    for token in _TOKEN.finditer(where):
        name = token["quoted"]
        if name is not None and name.lower() not in known:
            raise ValueError(f"no such column: {name}")
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0 or token[0].upper() in _QUERIES:
            raise ValueError("more than a condition")


def _more_columns(catalog: sqlite3.Connection) -> dict[str, str]:
    """Additional names in conditions, as SQL: options by their keys, metrics by their names."""
    keys = [row[0] for row in catalog.execute("SELECT DISTINCT key FROM runs, json_each(options) ORDER BY key")]
    found = {name: f"json_extract(options, '$.{name}')" for name in keys if _IDENTIFIER.fullmatch(name)}
    for (metric,) in catalog.execute("SELECT DISTINCT metric FROM runs"):
        name = re.sub(r"\W+", "_", str(metric).lower())
        if _IDENTIFIER.fullmatch(name):
            quoted = str(metric).replace("'", "''")
            found[name] = f"CASE WHEN metric = '{quoted}' THEN metric_value END"
    return {name: text for name, text in found.items() if name not in _COLUMNS}
