"""Virtual users as processes and as threads, with the interpreter lock and without it. For notebook 06 and tests.

hdbkit serves each virtual user by a process of its own. Alternatives run the product's own client
(:class:`hdbkit.execution.client.RunClient`) with its connection, loop and spool, and differ only in what they
share: threads of one process share an interpreter and its lock; threads of a *free-threaded* Python (PEP 703), which
``HDBKIT_FREE_THREADED`` names, share an interpreter that has none. Processes of Tcl, on PostgreSQL where Tcl has
Pgtcl and on MariaDB and MySQL where it has mysqltcl, make the same calls with inputs that were drawn before, and
record nothing but sums (``threads.tcl``); Debian's Pgtcl 3.0 mixes up arguments of calls that threads make at the
same time. Each measurement is a new interpreter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hdbkit.config import Load, Target
from hdbkit.config.passwords import PASSWORD_VARIABLE
from hdbkit.contracts import Scope
from hdbkit.databases import database
from hdbkit.databases._mysqlclient.connect import password_in_file
from hdbkit.errors import RunFailed
from hdbkit.execution.client import ClientPlan, RunClient, reason_path
from hdbkit.execution.control import ClientState, Control, Field
from hdbkit.execution.host import process_cpu_s
from hdbkit.execution.local_pool import LocalPool
from hdbkit.execution.virtual_user import session_options
from hdbkit.plan import RunPlan
from hdbkit.processes import ONE_THREAD
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.spool import is_committed, read_spools
from hdbkit.statement import Statement
from hdbkit.workloads import workload

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).parents[1]
FREE = "HDBKIT_FREE_THREADED"
"""The variable that names a free-threaded Python with the packages that clients need."""
PROCESSES = "Python processes (hdbkit)"
TCL = "Tcl processes, drawn inputs"
_TCL_PACKAGES = {"postgresql": "Pgtcl", "mariadb": "mysqltcl", "mysql": "mysqltcl"}
_DRAWN = 4_000
"""Calls of a Tcl process, which it repeats."""
_READY_S = 120.0
_HEAD_START_NS = 200_000_000
_FAILED = (ClientState.FAILED, ClientState.RAISED, ClientState.DISK_FULL)


@dataclass(frozen=True)
class Way:
    """A way to serve virtual users: by processes or by threads of one process, on an interpreter."""

    setting: str
    python: str = sys.executable
    processes: bool = False


@dataclass(frozen=True)
class Figures:
    """What was measured in one window; the figures of operations are means."""

    metric_value: float
    client_cpu_us: float
    """CPU time of all clients per operation."""
    client_cores: float
    """Processors that the clients kept busy."""
    between_us: float
    """From the end of an operation to the start of the same user's next one: its own work, and waits for the lock."""
    client_share: float
    """That time, as a share of all: how long the server waits for the client (ClientRead)."""
    start_s: float
    """From the start of the interpreter until all users are connected and ready."""
    memory_mib: float
    """Proportional set size of all clients."""


def ways(target: Target) -> list[Way]:
    """Processes first; Tcl's where they can be, and threads without a lock if :data:`FREE` names a Python."""
    found = [Way(PROCESSES, processes=True), Way("Python threads")]
    if _has_tcl(target):
        found.append(Way(TCL, "tclsh"))
    if free := os.environ.get(FREE):
        found += [Way("threads without the lock", free), Way("processes without the lock", free, processes=True)]
    return found


def _has_tcl(target: Target) -> bool:
    package, found = _TCL_PACKAGES.get(target.kind), shutil.which("tclsh")
    asked = f"exit [catch {{package require {package}}}]"
    return bool(package and found) and not subprocess.run(["tclsh"], input=asked, text=True, check=False).returncode


def side_by_side(target: Target, load: Load, users: Sequence[int] = (8,), blocks: int = 2) -> pd.DataFrame:
    """Measure each way at each number of users, in turn, this number of blocks, on the same server.

    A row per way and number of users, as medians of its blocks: group, setting, virtual_users, the fields of
    :class:`Figures`, and ``ratio`` with ``ratio_low`` and ``ratio_high``: metric_value over that of processes in the
    same block, the geometric mean and its 95 % interval by Student's t (NaN for one block).
    """
    import pandas as pd

    from hdbkit.workloads.present import present_schema

    schema = present_schema(target)
    measured = []
    for block in range(blocks):
        for count in users:
            own = load.model_copy(update={"virtual_users": count})
            plan = RunPlan(run_id="threads", target=target, workload=schema, load=own)
            turns = ways(target)
            for way in turns if block % 2 == 0 else reversed(turns):
                figures = asdict(figures_of(way, plan))
                measured.append({"setting": way.setting, "virtual_users": count, "block": block, **figures})
    frame = pd.DataFrame(measured)
    names = [way.setting for way in ways(target)]
    rows = frame.drop(columns="block").groupby(["virtual_users", "setting"]).median().reset_index()
    rows = rows.merge(_ratios(frame), on=["virtual_users", "setting"])
    place = rows["setting"].map(names.index)
    rows = rows.assign(place=place).sort_values(["virtual_users", "place"]).drop(columns="place")
    return rows.assign(group="here, now").reset_index(drop=True)


def _ratios(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd
    from scipy.special import stdtrit

    logs = frame.pivot(index=["virtual_users", "block"], columns="setting", values="metric_value").map(np.log)
    away = logs.sub(logs[PROCESSES], axis=0).stack().astype(float).groupby(level=["virtual_users", "setting"])
    mean, count = away.mean(), away.count()
    reach = away.std() / count**0.5 * stdtrit((count - 1).clip(lower=1), 0.975)
    named = {"ratio": mean, "ratio_low": mean - reach, "ratio_high": mean + reach}
    return pd.DataFrame({name: np.exp(one) for name, one in named.items()}).reset_index()


def figures_of(way: Way, plan: RunPlan) -> Figures:
    """One window of a way, in a new interpreter; raises ``RunFailed`` with its last words if that fails."""
    with tempfile.TemporaryDirectory(prefix="hdbkit-threads-") as name:
        folder = Path(name)
        if way.setting == TCL:
            return _figures_of_tcl(plan, folder)
        (folder / "plan.json").write_text(plan.model_dump_json(), encoding="utf-8")
        program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bench.threads import main; main()"
        kind = "processes" if way.processes else "threads"
        secret = plan.target.secret()
        given = {} if secret is None else {PASSWORD_VARIABLE: secret}
        done = subprocess.run(
            [way.python, "-c", program, name, kind, str(time.monotonic_ns())],
            env={**os.environ, **ONE_THREAD, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RunFailed(way.setting, (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
        return Figures(**json.loads((folder / "figures.json").read_text(encoding="utf-8")))


def _figures_of_tcl(plan: RunPlan, folder: Path) -> Figures:
    load, work, target = plan.load, workload(plan.workload), plan.target
    (counted,) = work.metric.rate.operations
    _draw(plan, folder)
    if target.kind == "postgresql":
        connection = ["postgresql", _conninfo(target, work.scope(database(target).dialects).schema)]
        found = {"PGPASSFILE": target.password_file, "PGPASSWORD": target.secret()}
    else:
        found = {"MYSQL_PWD": target.secret() or (password_in_file(target) or (None, None))[1]}
        connection = ["mysql", f"-host {target.host} -port {target.port} -user {target.user} -db {target.database}"]
    begun = time.monotonic()
    command = ["tclsh", str(Path(__file__).with_suffix(".tcl")), *connection, str(folder / "statements")]
    given = {**os.environ, **{name: str(value) for name, value in found.items() if value}}
    with ExitStack() as opened:
        started = [
            opened.enter_context(
                subprocess.Popen(
                    [*command, str(folder / str(user.index)), f"call_{counted}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=given,
                )
            )
            for user in plan.users
        ]
        if not all(_line(one) == "ready\n" for one in started):
            raise RunFailed(TCL, "a process ended before it was ready")
        start_s = time.monotonic() - begun
        begin = time.time() + _HEAD_START_NS / 1e9
        first, last = begin + load.rampup_s, begin + load.rampup_s + load.duration_s
        for one in started:
            print(*(round(at * 1e6) for at in (begin, first, last)), file=one.stdin, flush=True)
        pids = [one.pid for one in started]
        time.sleep(first - time.time())
        cpu_s, memory_mib = _cpu_s(pids), sum(map(_memory_mib, pids))
        time.sleep(last - time.time())
        cpu_s = _cpu_s(pids) - cpu_s
        done, of_rate, within_us = map(sum, zip(*(map(int, _line(one).split()) for one in started), strict=True))
    busy_us = len(started) * load.duration_s * 1e6
    return Figures(
        metric_value=of_rate * work.metric.rate.per_s / load.duration_s,
        client_cpu_us=cpu_s * 1e6 / done,
        client_cores=cpu_s / load.duration_s,
        between_us=(busy_us - within_us) / done,
        client_share=1 - within_us / busy_us,
        start_s=start_s,
        memory_mib=memory_mib,
    )


def _line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline() if process.stdout else ""


def _draw(plan: RunPlan, folder: Path) -> None:
    """Write the inputs of each user's calls, and what Tcl has to prepare: on MySQL nothing, since calls are texts."""
    engine, work, texts = database(plan.target), workload(plan.workload), dict[str, str]()
    scope = work.scope(engine.dialects)
    with closing(engine.connect(plan.target, scope, session_options(plan))) as session:
        for user in plan.users:
            own, lines = work.user(session, plan.load, user, {}), list[str]()
            while len(lines) < _DRAWN:
                for prepared in own.next_batch():
                    if isinstance(prepared.bound, bytes):
                        text = "\t".join(" ".join(one.split()) for one in prepared.bound.decode().split(";\n"))
                        lines.append(f"call_{work.operations[prepared.operation]}\t{text}")
                    else:
                        lines.append(_prepared_call(prepared.bound, scope, texts))
            (folder / str(user.index)).write_text("\n".join(lines), encoding="utf-8")
    lines = [f"{name}\t{' '.join(text.split())}" for name, text in texts.items()]
    (folder / "statements").write_text("\n".join(lines), encoding="utf-8")


def _prepared_call(bound: Sequence[Any], scope: Scope, texts: dict[str, str]) -> str:
    """A line of inputs; adds the statement to ``texts``, one for each choice of arguments that are NULL."""
    name, values, *_ = bound
    nulls = [number for number, value in enumerate(values, 1) if value is None]
    variant = "_".join([name.decode(), *map(str, nulls)])
    if variant not in texts:
        texts[variant] = _with_nulls(scope.statements[name.decode()], nulls)
    return "\t".join([variant, *(one.decode() for one in values if one is not None)])


def _with_nulls(statement: Statement, nulls: Sequence[int]) -> str:
    def written(_: str, index: int) -> str:
        return "NULL" if index in nulls else f"${index - sum(one < index for one in nulls)}"

    return statement.rendered(written)


def _conninfo(target: Target, schema: str) -> str:
    words = {"host": target.host, "port": target.port, "dbname": target.database, "user": target.user}
    words["options"] = f"-csearch_path={schema}"
    return " ".join(f"{name}={value}" for name, value in words.items() if value)


def main() -> None:
    """Entry point of a measurement: ``python ... FOLDER threads|processes BEGUN_NS``."""
    folder, processes, begun_ns = RunFolder(Path(sys.argv[1])), sys.argv[2] == "processes", int(sys.argv[3])
    plan = RunPlan.model_validate_json((folder.path / "plan.json").read_bytes())
    folder.spools.mkdir()
    page, load = Control.create(folder.control, plan.load.virtual_users), plan.load
    pids, threads = [os.getpid()], []
    if processes:
        pool = LocalPool(folder, plan)
        pool.prepare(plan.users)
        pids = [one.pid for one in pool.readings()]
    else:
        clients = [ClientPlan(user.index, (user,)) for user in plan.users]
        threads = [threading.Thread(target=_live, args=(folder.path, plan, one)) for one in clients]
    for thread in threads:
        thread.start()
    _wait_until_ready(folder, page)
    start_s = (time.monotonic_ns() - begun_ns) / 1e9
    page.fields[Field.START_AT_NS] = time.monotonic_ns() + _HEAD_START_NS
    time.sleep(_HEAD_START_NS / 1e9 + load.rampup_s)
    began_ns, cpu_s = time.monotonic_ns(), _cpu_s(pids)
    time.sleep(load.duration_s)
    ended_ns, cpu_s = time.monotonic_ns(), _cpu_s(pids) - cpu_s
    memory_mib = sum(map(_memory_mib, pids))
    page.fields[Field.STOP_AT_NS] = ended_ns
    for thread in threads:
        thread.join()
    while processes and not pool.all_ended():
        pool.wait(0.1)
    figures = _figures(folder.spools, plan, began_ns, ended_ns, cpu_s)
    (folder.path / "figures.json").write_text(json.dumps({**figures, "start_s": start_s, "memory_mib": memory_mib}))


def _live(folder: Path, plan: RunPlan, own: ClientPlan) -> None:
    client = RunClient(folder, plan, own)
    try:
        client.live()
    except Exception as error:
        client.fail(error)


def _wait_until_ready(folder: RunFolder, page: Control) -> None:
    deadline = time.monotonic() + _READY_S
    while set(states := page.states()) != {ClientState.READY}:
        for number, state in enumerate(states):
            if state in _FAILED:
                raise SystemExit(reason_path(folder.spools, number).read_text(encoding="utf-8"))
        if time.monotonic() > deadline:
            raise SystemExit(f"the users were not ready in {_READY_S:g} s")
        time.sleep(0.01)


def _cpu_s(pids: Sequence[int]) -> float:
    """CPU time of processes with all their threads, to 10 ms each if they have several."""
    return time.process_time() if pids == [os.getpid()] else sum(map(process_cpu_s, pids))


def _memory_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _figures(spools: Path, plan: RunPlan, began_ns: int, ended_ns: int, cpu_s: float) -> dict[str, float]:
    work, completed, counted, served_ns = workload(plan.workload), 0, 0, 0
    rate = work.metric.rate
    of_rate = [work.operations.index(name) for name in rate.operations]
    first, last = dict[int, int](), dict[int, int]()
    for _, records in read_spools(spools):
        inside = records[(records["start_ns"] >= began_ns) & (records["end_ns"] < ended_ns)]
        completed += int(np.count_nonzero(inside["outcome"] != int(Outcome.FAILED)))
        counted += int(np.count_nonzero(is_committed(of_rate, inside)))
        served_ns += int((inside["end_ns"] - inside["start_ns"]).sum())
        for user in np.unique(inside["virtual_user"]).tolist():
            own = inside[inside["virtual_user"] == user]
            first.setdefault(user, int(own["start_ns"][0]))
            last[user] = int(own["end_ns"][-1])
    if not completed:
        raise SystemExit("no operation was completed; use a longer window")
    busy_ns, window_ns = sum(last[user] - first[user] for user in first), ended_ns - began_ns
    return {
        "metric_value": counted * rate.per_s * 1e9 / window_ns,
        "client_cpu_us": cpu_s * 1e6 / completed,
        "client_cores": cpu_s * 1e9 / window_ns,
        "between_us": (busy_ns - served_ns) / 1e3 / completed,
        "client_share": 1 - served_ns / busy_ns,
    }
