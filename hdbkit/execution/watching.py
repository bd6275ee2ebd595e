"""A run whose load is another program's: hdbkit sends nothing, and reads counters, waits and the host for a time.

The window is between two readings of the server's counters, as of any run. Where the database has a schema with a
count of its own, the metric is that of its workload; else it is what the server counts: transactions per minute.
Latencies, errors and retries are known only to who sends the load.
"""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from hdbkit.analysis.wording import WATCHED
from hdbkit.config import Load, Target, spec_from
from hdbkit.config.metric import Metric
from hdbkit.config.specs import OtherSpec
from hdbkit.contracts import Workload
from hdbkit.databases import database
from hdbkit.errors import SchemaProblem
from hdbkit.execution import host
from hdbkit.execution.finish import complete, remove_spools
from hdbkit.execution.folder_setup import note_in_charge
from hdbkit.execution.network import network_facts
from hdbkit.execution.restoring import turn_on_instruments, undo_changes
from hdbkit.execution.sampler import Sampler, ServerHost
from hdbkit.execution.waits import WaitSampler, require_waits
from hdbkit.files import replace_file
from hdbkit.plan import RunPlan, new_run_id
from hdbkit.readings import PoolMode
from hdbkit.results.folder import RunFolder, make_folder
from hdbkit.results.manifest import Clock, HostFacts, Manifest, ServerFacts, Status
from hdbkit.workloads import metric_of, workload
from hdbkit.workloads.present import made_by_hammerdb, present_schema

_OTHERS: Final = "watched"
"""The kind of a workload of which nothing is known."""
ENGINE_TPM: Final = Metric(
    name="engine TPM", title="transactions of the server per minute", unit="TPM", per_s=60, operations=()
)
_NOTICE = "the load is another program's; hdbkit only watched it"
_ANSWER_S = 30.0


def watch(target: Target, load: Load, root: Path, label: str | None) -> RunFolder:
    """Watch the server for ``load.duration_s``; an interrupt ends the window, and the result is kept.

    Args:
        target: the database.
        load: the length of the window, the intervals of counters and waits, and the number of users, if it is known.
        root: the folder of all results.
        label: a name of the run.

    Raises:
        InputError: the server cannot be reached; nothing was made.
    """
    require_waits(target, load)
    folder, manifest, work = _begun(target, load, root, label)
    plan = manifest.plan
    sampler = Sampler(plan, folder.spools, load.counter_interval_s, work)
    waits, server_host = WaitSampler(plan, folder.spools), ServerHost(target, folder.spools)
    status, note = Status.DONE, ""
    sampler.start()
    try:
        server_host.start()
        turn_on_instruments(folder, plan)
        waits.start()
        clock = Clock(start_monotonic_ns=time.monotonic_ns(), start_wall=datetime.now(UTC))
        for edge in ("run_start", "start"):
            sampler.ask(edge).result(_ANSWER_S)
        manifest = manifest.model_copy(update={"clock": clock}).moved_to(Status.MEASURING)
        folder.write(manifest)
        try:
            time.sleep(load.duration_s)
        except KeyboardInterrupt:
            status, note = Status.STOPPED, "stopped on request"
        for edge in ("end", "run_end"):
            sampler.ask(edge).result(_ANSWER_S)
    except BaseException as error:
        status, note = Status.FAILED, str(error) or type(error).__name__
        raise
    finally:
        waits.stop()
        server_host.stop()
        warnings = [*manifest.warnings, *filter(None, [waits.problem, server_host.problem]), *undo_changes(folder)]
        manifest = manifest.model_copy(update={"warnings": warnings})
        sampler.stop()
        sampler.join(_ANSWER_S)
        with suppress(OSError):
            folder.write(complete(folder, manifest.moved_to(Status.FINISHING)).moved_to(status, note))
            remove_spools(folder)
    return folder


def _begun(target: Target, load: Load, root: Path, label: str | None) -> tuple[RunFolder, Manifest, Workload | None]:
    """The folder of a run with its manifest, and the workload of the schema, if it is known."""
    engine, work = database(target), _counted(target)
    spec = work.spec if work else OtherSpec(kind=_OTHERS)
    with closing(engine.connect(target)) as session:
        pooling, settings = engine.pooling(session, target), engine.settings_of(session)
        network = network_facts(engine, session, target)
        server: dict[str, Any] = {"kind": engine.kind, "title": engine.title, "version": engine.version(session)}
        if pooling.mode is not PoolMode.DIRECT:
            server["pooler"] = str(pooling)
    run_id = new_run_id(datetime.now(UTC), target, spec, load)
    plan = RunPlan(run_id=run_id, target=target, workload=spec, load=load, label=label, pooling=pooling)
    folder = RunFolder(root / run_id)
    make_folder(folder.spools)
    note_in_charge(folder, os.getpid())
    replace_file(folder.settings, json.dumps(settings, indent=1).encode())
    manifest = Manifest(
        run_id=run_id,
        notice=work.notice if work else _NOTICE,
        status=Status.STARTING,
        plan=plan,
        operations=[],
        metric=metric_of(work, load) if work else ENGINE_TPM,
        workload_title=f"{work.title}, load of others" if work else "load of others",
        noun=work.noun if work else "transaction",
        scale=work.scale if work else "",
        size=spec.size if work else None,
        software={
            "hdbkit": version("hdbkit"),
            "python": platform.python_version(),
            "driver": engine.driver_version(),
        },
        host=HostFacts(**host.this_host_facts()),
        server=ServerFacts(**server),
        network=network,
        warnings=[WATCHED],
        tags=[_OTHERS],
    )
    manifest = manifest.moved_to(Status.STARTING)
    folder.write(manifest)
    return folder, manifest, work


def _counted(target: Target) -> Workload | None:
    """The default workload with the schema in the target's database, hdbkit's or HammerDB's; None without one."""
    asked = spec_from({})
    found: Workload | None
    try:
        found = workload(present_schema(target, asked))
    except SchemaProblem:
        found = made_by_hammerdb(target, asked)
    return found if found and found.metric.counter else None
