"""What the server's sessions worked on and waited for: by operation, over time, and as parts of an operation's time.

A session is sampled, so the number of samples in which it waits for something, over all samples, times the length of
the window, is the time that it waited. What its virtual user executed at that moment is in the records, so each wait
belongs to an operation without a look at its text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hdbkit.analysis.run.records import Window, operations_of, table, window_of
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import OperationResult, Wait, WaitsResult, wait_text
from hdbkit.slices import SliceOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLER, RUNNING, CLIENT = "sampler", "running", "client"
"""Classes of the table ``waits``: the session that asked, one that does not wait, one whose client is to send."""
SERVER_CPU, CLIENT_CPU, PROCESSORS = "CPU of the sessions", "CPU of the clients", "waits for a processor"
UNREPORTED, OUTSIDE = "waits that the server does not report", "client and network"
"""Parts of an operation's time that the server does not report as waits: CPU time of the server's threads that serve
the load's sessions; the clients', known for whole runs of a closed loop; how long both were ready to run and had no
core; the rest of the time in which sessions report no wait; and all else outside the server."""
UNTOLD = "waits for a processor, client and network"
"""Both together, where time without a core that passes within a reported wait leaves nothing to the network."""
BESIDE = "CPU of the server's other work"
"""What is no part of an operation's time: parallel workers, the writer of the log, checkpoints, purge."""
CLASSES = (RUNNING, "lock", "log", "disk", "latch", CLIENT, "other")
_MIN_SAMPLES = 10
"""The least number of samples in a window."""
_KIND = ["class", "event", "table"]
_RECORDS = "records"
"""The name of a run's operations in a query."""
_NAMES = ["operation", "ms", "t_us", "virtual_user", "statement", "plan"]
WAIT_PARTS = ("server", "clients")


def waits_result(
    folder: RunFolder, manifest: Manifest, window: Window, operations: Mapping[str, OperationResult]
) -> WaitsResult | None:
    """The waits of a window; None if they were not sampled, or too seldom."""
    found = _sampled(folder, window)
    if found is None:
        return None
    samples, active = found
    own = active[active["virtual_user"] >= 0]
    named = _named(folder, manifest, own)
    counts = named.groupby(["operation", *_KIND]).size().sort_values(ascending=False, kind="stable")
    others = active[active["virtual_user"] < 0].groupby(_KIND).size().sort_values(ascending=False, kind="stable")
    waits = []
    for key, n in zip(counts.index.to_list(), counts.to_list(), strict=True):
        done = operations[key[0]].count if key[0] in operations else 0
        waits.append(_wait(key, n / samples, 1000 * n / samples * window.duration_s / done if done else None))
    rest = zip(others.index.to_list(), others.to_list(), strict=True)
    return WaitsResult(samples=samples, waits=waits, others=[_wait(("", *key), n / samples, None) for key, n in rest])


def _wait(key: tuple[str, ...], sessions: float, ms: float | None) -> Wait:
    operation, wait_class, event, of_table = key
    return Wait(operation=operation, wait_class=wait_class, event=event, table=of_table, sessions=sessions, ms=ms)


def _sampled(folder: RunFolder, window: Window) -> tuple[int, pd.DataFrame] | None:
    """The number of samples in a window, and the sessions that were active in them."""
    rows = table(folder, "waits")
    if rows is None:
        return None
    inside = rows[rows["t_us"].between(window.start_us, window.end_us, inclusive="left")]
    samples = int((inside["class"] == SAMPLER).sum())
    return (samples, inside[inside["class"] != SAMPLER]) if samples >= _MIN_SAMPLES else None


def _named(folder: RunFolder, manifest: Manifest, own: pd.DataFrame) -> pd.DataFrame:
    """The sessions of the load that were active, each with its operation, and with a table where one is known."""
    return with_tables(own.assign(operation=operations_at(folder, manifest, own)))


def with_tables(waits: pd.DataFrame) -> pd.DataFrame:
    """Waits with a table where one is known: ``t_us``, ``operation``, ``class``, ``event``, ``table`` ("": none).

    A server reports the table of some waits of a kind only: in PostgreSQL, of a session that waits for a row's
    transaction while it holds the row's lock, as the first in the queue does. The others have that of the nearest
    sample in time with the same operation and event.
    """
    named = waits.sort_values("t_us", kind="stable")
    known = named["table"] != ""
    near = pd.merge_asof(
        named[~known].drop(columns="table"), named.loc[known, ["t_us", "operation", *_KIND]],
        on="t_us", by=["operation", "class", "event"], direction="nearest",
    )  # fmt: skip
    return pd.concat([named[known], near.fillna({"table": ""})])


def operations_at(folder: RunFolder, manifest: Manifest, active: pd.DataFrame) -> NDArray[np.object_]:
    """What each virtual user executed at a time (``virtual_user``, ``t_us``): the operation that it began last."""
    names = np.array([*manifest.operations, ""], dtype=object)
    with operations_of(folder) as records:
        asked = active[["virtual_user", "t_us"]].reset_index(drop=True).rename_axis("row").reset_index()  # noqa: F841
        relation = records.query(
            _RECORDS,
            "SELECT asked.row, records.operation FROM asked ASOF JOIN records "
            "ON asked.virtual_user = records.virtual_user AND asked.t_us >= records.t_start_us",
        )
        assert relation is not None
        joined = relation.df()
    codes = np.full(len(active), len(names) - 1)
    codes[joined["row"].to_numpy()] = joined["operation"].to_numpy()
    found: NDArray[np.object_] = names[codes]
    return found


def sessions_over_time(folder: RunFolder, step_s: int) -> pd.DataFrame | None:
    """Mean number of the load's sessions in each class: a row per step with ``second`` and a column per class.

    None if waits were not sampled.
    """
    rows = table(folder, "waits")
    if rows is None or rows.empty:
        return None
    rows = rows[rows["t_us"] >= 0]
    step = (rows["t_us"] // (1_000_000 * step_s)).astype(int)
    samples = step[rows["class"] == SAMPLER].value_counts().sort_index()
    own = rows["virtual_user"] >= 0
    counts = pd.crosstab(step[own], rows.loc[own, "class"]).reindex(samples.index, fill_value=0)
    found = counts.div(samples, axis=0)
    known = [name for name in CLASSES if name in found]
    return found[known].rename_axis(columns=None).assign(second=samples.index * step_s).reset_index(drop=True)


def waits_by_step(folder: RunFolder, manifest: Manifest, step_s: int) -> dict[tuple[str, str], list[float]]:
    """Seconds that sessions of the load waited in each step from the run's start on, by operation and wait."""
    found = _sampled(folder, Window(0, window_of(manifest).end_us))
    rows = table(folder, "waits")
    if found is None or rows is None:
        return {}
    steps, step_us = math.ceil(window_of(manifest).end_us / 1e6 / step_s), 1_000_000 * step_s
    at = rows.loc[(rows["class"] == SAMPLER) & (rows["t_us"] >= 0), "t_us"] // step_us
    samples = np.maximum(np.bincount(at, minlength=steps)[:steps], 1)
    own = found[1][found[1]["virtual_user"] >= 0]
    named = _named(folder, manifest, own).assign(step=lambda rows: rows["t_us"] // step_us)
    found_s = {}
    for key, group in named.groupby(["operation", *_KIND]):
        operation, *kind = map(str, key)
        found_s[operation, wait_text(*kind)] = np.bincount(group["step"], minlength=steps) * step_s / samples
    return {key: values.tolist() for key, values in found_s.items()}


@dataclass(frozen=True)
class Parts:
    """The time of an operation in milliseconds, all operations together, in stretches of a run.

    ``total_ms`` has the stretches; ``parts_ms`` a row per stretch and a column per part, which add up to the total.
    In a closed loop without waits of users that is the number of sessions times the length of a stretch over what was
    completed; else the mean time inside operations. A session may lack a core within a wait that the server reports:
    that time is counted twice, so that ``OUTSIDE`` is too small, and may be below zero. ``beside_ms`` is the server's
    CPU time outside of the load's sessions, which is no part of the total; None where it is not known.
    """

    total_ms: NDArray[np.float64]
    parts_ms: pd.DataFrame
    beside_ms: NDArray[np.float64] | None = None


def parts_of(folder: RunFolder, manifest: Manifest, stretches: int = 1) -> Parts | None:
    """The parts of an operation's time in equal stretches of the window; None if waits were not sampled.

    Args:
        folder: the run.
        manifest: its manifest.
        stretches: how many.
    """
    window = window_of(manifest)
    found = _sampled(folder, window)
    if found is None:
        return None
    edges_us = np.linspace(window.start_us, window.end_us, stretches + 1)
    samples, done, inside_us = _per_stretch(folder, edges_us)
    if not samples.all() or not done.all():
        return None
    length_ms = np.diff(edges_us) / 1000
    sessions = manifest.plan.load.sessions
    total_ms = inside_us / 1000 / done if manifest.pauses else sessions * length_ms / done
    active = found[1]
    own = _named(folder, manifest, active[(active["virtual_user"] >= 0) & (active["class"] != CLIENT)])
    at = np.searchsorted(edges_us, own["t_us"].to_numpy(), "right") - 1
    counts = pd.crosstab(at, _parts(own)).reindex(range(stretches), fill_value=0)
    waits_ms = counts.mul(length_ms / samples / done, axis=0)
    running = waits_ms.pop(RUNNING).tolist() if RUNNING in waits_ms else [0.0] * stretches
    cpu_ms = _server_ms(folder, "sessions_cpu_s", edges_us, done)
    queued_ms = _server_ms(folder, "sessions_waited_s", edges_us, done)
    parts: dict[str, Any] = {RUNNING: running}
    if cpu_ms is not None and queued_ms is not None:
        parts = _split(np.array(running), cpu_ms, queued_ms)
    result = manifest.measured
    if stretches == 1 and result.client_cpu_us_per_operation is not None and not manifest.pauses:
        parts[CLIENT_CPU] = [result.client_cpu_us_per_operation / 1000]
        if PROCESSORS in parts and result.client_waited_us_per_operation is not None:
            parts[PROCESSORS] = parts[PROCESSORS] + result.client_waited_us_per_operation / 1000
    parts_ms = pd.DataFrame({**parts, **waits_ms})
    outside_ms = total_ms - parts_ms.sum(axis=1).to_numpy()
    all_ms = _server_ms(folder, "server_cpu_s", edges_us, done)
    beside_ms = None if cpu_ms is None or all_ms is None else np.maximum(all_ms - cpu_ms, 0.0)
    return Parts(total_ms, parts_ms.assign(**{OUTSIDE: outside_ms}), beside_ms)


def _parts(active: pd.DataFrame) -> NDArray[np.object_]:
    """The part that each wait belongs to."""
    kinds = zip(active["class"], active["event"], active["table"], strict=True)
    return np.array([part_of(*one) for one in kinds], dtype=object)


def part_of(wait_class: str, event: str, of_table: str) -> str:
    """The part that a wait belongs to; waits for locks of one table are one, whatever each is called."""
    return wait_text(wait_class, "" if wait_class == "lock" and of_table else event, of_table)


def _split(
    running_ms: NDArray[np.float64], cpu_ms: NDArray[np.float64], queued_ms: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Time without a wait: CPU time and time without a core, which the host counts, and what samples show beyond."""
    hidden_ms = np.maximum(running_ms - cpu_ms - queued_ms, 0.0)
    return {SERVER_CPU: cpu_ms, PROCESSORS: queued_ms, UNREPORTED: hidden_ms}


def _per_stretch(
    folder: RunFolder, edges_us: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Of each stretch: samples, operations that were completed in it, and the microseconds inside all that ended."""
    rows = table(folder, "waits")
    assert rows is not None
    times = rows.loc[rows["class"] == SAMPLER, "t_us"].to_numpy()
    samples = np.histogram(times, edges_us)[0].astype(float)
    length_us, first_us = edges_us[1] - edges_us[0], edges_us[0]
    with operations_of(folder, Window(int(edges_us[0]), int(edges_us[-1]))) as records:
        found = records.aggregate(
            f"least(floor((t_end_us - {first_us}) / {length_us}), {len(edges_us) - 2})::INTEGER AS stretch, "
            f"(count(*) FILTER (outcome <> {Outcome.FAILED.value}))::DOUBLE AS done, "
            "sum(latency_us)::DOUBLE AS inside_us",
            "stretch",
        ).df()
    by = found.set_index("stretch").reindex(range(len(edges_us) - 1), fill_value=0.0)
    return samples, by["done"].to_numpy(dtype=float), by["inside_us"].to_numpy(dtype=float)


def _server_ms(
    folder: RunFolder, column: str, edges_us: NDArray[np.float64], done: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """How much a total of the server grew per operation in each stretch; None if it is not known throughout."""
    host = table(folder, "host")
    if host is None or column not in host or not np.isfinite(host[column]).any():
        return None
    known = host[np.isfinite(host[column])]
    at_s = np.interp(edges_us, known["t_us"].to_numpy(dtype=float), known[column].to_numpy(dtype=float))
    used_s = np.diff(at_s)
    missing = known["t_us"].min() > edges_us[0] + 2e6 or known["t_us"].max() < edges_us[-1] - 2e6
    return None if missing or (used_s < 0).any() or not math.isfinite(used_s.sum()) else 1000 * used_s / done


def slow_plans(folder: RunFolder, manifest: Manifest) -> pd.DataFrame:
    """The slowest execution of each statement that was slow, the slowest first, with the plan that ran.

    ``operation``, ``ms``, ``t_us``, ``virtual_user``, ``statement``, ``plan``; empty where they were not asked for.
    """
    rows = table(folder, "slow_plans")
    if rows is None:
        return pd.DataFrame(columns=_NAMES)
    return rows.assign(operation=operations_at(folder, manifest, rows))[_NAMES]


def stacks(folder: RunFolder, manifest: Manifest, part: str, position: int | None = None) -> dict[str, int]:
    """How often each stack of a part was sampled; functions are separated by ``;``, the outermost is the first.

    Args:
        folder: the run.
        manifest: its manifest.
        part: of ``WAIT_PARTS``.
        position: of a configuration that alternates with others in slices; None: all samples.

    Raises:
        DamagedResult: the table cannot be read.
    """
    rows = table(folder, "profile")
    if rows is None:
        return {}
    rows = rows[rows["part"] == part]
    slices = manifest.plan.slices
    if position is not None and slices is not None:
        order = SliceOrder(slices)
        at = (1000 * rows["t_us"] // slices.slice_ns).map(lambda number: order.position(max(int(number), 0)))
        rows = rows[at == position]
    return {str(stack): int(count) for stack, count in rows["stack"].value_counts().items()}


def self_shares(counts: dict[str, int]) -> pd.Series[float]:
    """The share of samples in which each function itself was executed, the largest first."""
    total = sum(counts.values())
    by = pd.Series({stack: n / total for stack, n in counts.items()}, dtype="float64")
    return by.groupby([stack.rpartition(";")[2] for stack in by.index]).sum().sort_values(ascending=False)
