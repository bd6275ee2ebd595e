"""A result of HammerDB 6 as it writes it for publication (``jobs summaryjson``): ``hammerdb-job-report-v1``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hdbkit.hammerdb.jobs import HammerJob, HammerJobs, LeftOut, database_named, job_times, time_of
from hdbkit.hammerdb.reading import ReadCommand
from hdbkit.hammerdb.translating import translation
from hdbkit.results.run_result import OperationResult

_SCHEMA: Final = "hammerdb-job-report-v1"
_MAX: Final = 1e15
_ID: Final = 64


def is_report(content: Any) -> bool:
    """Whether a value of a JSON file is such a document."""
    return isinstance(content, dict) and content.get("schema") == _SCHEMA


def read_report(content: Any) -> HammerJobs:
    """The job of a document; left out if it lacks what a result needs, or has another metric."""
    about = _part(content, "job")
    job_id = str(about.get("jobid") or "1")[:_ID]
    try:
        return HammerJobs([_job(content, about, job_id)], [])
    except LeftOut as error:
        return HammerJobs([], [(job_id, str(error))])


def _job(content: Mapping[str, Any], about: Mapping[str, Any], job_id: str) -> HammerJob:
    given, result = _part(content, "benchmark_config"), _part(content, "result")
    words = translation()["jobs"]["document"]
    metric = words["value"]
    if metric not in result:
        raise LeftOut(f"it has no {metric.upper()}: its benchmark is {str(about.get('benchmark'))[:30]}")
    database = database_named(str(about.get("database") or about.get("database_display")))
    users = result.get("active_virtual_users", given.get("virtual_users"))
    prefix = translation()["databases"][database]["prefix"]
    settings = [
        ReadCommand(0, "diset", ("tpcc", f"{prefix}{name}", f"{_number(given[stated], stated):g}"))
        for stated, name in words["settings"].items()
        if given.get(stated) is not None
    ]
    if given.get("duration_minutes") is None:
        raise LeftOut("it does not state its minutes")
    return HammerJob(
        job_id=job_id,
        started=time_of(about["timestamp"]) if about.get("timestamp") else None,
        benchmark="TPC-C",
        settings=(ReadCommand(0, "dbset", ("db", database)), *settings),
        virtual_users=int(_number(users, "virtual_users", least=1)),
        value=int(_number(result[metric], metric, least=1)),
        tpm=int(_number(result.get("tpm"), "tpm")),
        profile_id=0,
        host=dict(_host(_part(content, "system"))),
        profiled=dict(_profiled(_part(content, "response_times"))),
        server_version=str(about.get("release") or "")[:_ID],
        version=str(about.get("hdb_version") or "")[:_ID],
    )


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def _number(value: Any, name: str, least: int = 0) -> float:
    """A number, or its text. Raises :class:`LeftOut` for anything else."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        found = math.nan
    if not least <= found < _MAX:
        raise LeftOut(f"its {name} is {json.dumps(value, default=str)[:30]}")
    return found


def _host(system: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, stated in (("name", "hostname"), ("processor", "cpumodel")):
        if isinstance(system.get(stated), str) and system[stated]:
            yield name, system[stated][:200]


def _profiled(times: Mapping[str, Any]) -> Iterator[tuple[str, OperationResult]]:
    rows = times.get("rows")
    for row in rows if isinstance(rows, list) and times.get("unit", "milliseconds") == "milliseconds" else ():
        name = translation()["jobs"]["profiled"].get(str(row.get("name")).upper()) if isinstance(row, dict) else None
        if name and isinstance(row.get("calls"), int) and 0 <= row["calls"] < _MAX:
            yield name, job_times(row["calls"], row)
