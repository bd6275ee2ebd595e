"""What each verb returns as one JSON document, for ``--json`` of the command line and for the jobs of the service.

Frames are lists of objects with units in the names of their keys; NaN is null.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hdbkit.analysis.comparison.gate import Gate
from hdbkit.analysis.run.bottleneck import Bottleneck
from hdbkit.api.connection import checks_frame
from hdbkit.api.experiment_result import ExperimentResult
from hdbkit.api.experiments import RunningExperiment
from hdbkit.api.planning import PlannedHosts, PlannedPower
from hdbkit.api.result import Result
from hdbkit.config.metric import Better, Metric
from hdbkit.experiment import ExperimentStatus
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.later import pandas as pd
from hdbkit.loading import BuildResult
from hdbkit.loading.data_files import WrittenData
from hdbkit.results.finding import Finding
from hdbkit.results.manifest import Status
from hdbkit.results.run_result import RunResult

Document = dict[str, Any]


def as_text(content: Any) -> str:
    """A document as JSON."""
    return json.dumps(_clean(content), indent=1, default=str) + "\n"


def of_frame(frame: pd.DataFrame) -> list[Document]:
    """A frame as a list of objects."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def of_metric(metric: Metric) -> dict[str, str]:
    """What identifies a metric beside its values: name, unit, and whether higher or lower is better."""
    return {"name": metric.name, "unit": metric.unit, "better": metric.better.value}


class RunDocument(BaseModel):
    """A run: its figures and checks."""

    run_id: str
    status: Status
    report: str = Field(description="the file with its report, on the host of the results")
    metric: dict[str, str] = Field(description="name, unit, and whether higher or lower is better")
    warnings: list[str]
    bottleneck: Bottleneck | None = Field(description="what limits it; null if its throughput is not known")
    result: RunResult | None = Field(description="null if the run has not been measured")
    events: list[Document] = Field(description="time_s since the start, kind, text and source, as far as known")
    checks: list[Document]


def of_run(result: Result, report: Path) -> Document:
    """A run: its figures and checks."""
    found = RunDocument(
        run_id=result.run_id,
        status=result.manifest.status,
        report=str(report),
        metric=of_metric(result.metric),
        warnings=result.warnings,
        bottleneck=result.bottleneck,
        result=result.manifest.result,
        events=of_frame(result.events) if result.manifest.result else [],
        checks=of_frame(result.checks),
    )
    return found.model_dump(mode="json")


class ExperimentDocument(BaseModel):
    """An experiment: what it measures, and how far it is or how it ended."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    experiment_id: str
    kind: str = Field(description="the source of its cells", examples=["sweep", "comparison", "max-rate"])
    title: str = Field(description="the experiment as the subject of a sentence")
    status: ExperimentStatus
    targets: list[str] = Field(description="names or addresses, without passwords")
    cells: list[dict[str, str]] = Field(description="what differs between its configurations, the baseline first")
    runs: int = Field(description="planned runs, as far as they are known")
    done: int
    ended_early: int
    failed: int
    blocks: int
    run_id: str = Field(description="the present run, or the last one; empty before the first")
    doing: str = Field(description="what that run executes")
    left_s: float | None = Field(description="estimated seconds; null where they are not known yet")
    note: str = Field(description="why it was stopped, or failed")


def of_experiment(running: RunningExperiment[Any]) -> ExperimentDocument:
    """An experiment as it is now. Raises ``DamagedResult``."""
    now, plan = running.progress(), running.plan
    return ExperimentDocument(
        experiment_id=running.experiment_id, kind=plan.kind, title=plan.title, status=now.status,
        targets=[target.given for target in plan.targets], cells=list(plan.configurations), runs=now.total,
        done=now.done, ended_early=now.ended_early, failed=now.failed, blocks=now.blocks, run_id=now.run_id,
        doing=now.described, left_s=now.left_s, note=now.note,
    )  # fmt: skip


def of_plan(planned: SweepPlan, power: PlannedPower | None, hosts: PlannedHosts | None) -> Document:
    """A planned sweep: its runs, its duration, what it can find, and the load hosts that it needs."""
    needed = None if hosts is None else vars(hosts) | {"hosts": hosts.hosts, "cores_used": hosts.cores_used}
    about = {"estimated_s": planned.estimated_s, "power": _of_power(power), "load_hosts": needed}
    return planned.model_dump(mode="json") | about


def of_build(done: BuildResult) -> Document:
    """A build: loaded rows, duration, checks."""
    checks = of_frame(checks_frame(done.checks))
    return {"rows": done.rows, "duration_s": done.duration_s, "checks": checks}


def of_written(done: WrittenData) -> Document:
    """Rows that were written to files."""
    about = {"folder": str(done.folder), "chunks": list(done.chunks), "kept": done.kept}
    return about | {"rows": done.rows, "size_bytes": done.size_bytes}


class FindingDocument(Finding):
    """What an experiment found, and its runs."""

    better: Better = Field(description="whether higher or lower values of its metric are better")
    report: str | None = Field(description="the file with its report, on the host of the results; null: not written")
    runs: list[Document] = Field(description="a row per run, also of those without a result")
    gate: Document | None = Field(default=None, description="of a comparison with a limit: verdict and sentence")


def of_result(found: Result | ExperimentResult, report: Path | None, gate: Gate | None = None) -> Document:
    """A run or the result of an experiment, with its report if one was written."""
    if isinstance(found, Result):
        return of_run(found, report or found.report())
    about = {
        "better": found.metric.better.value,
        "report": str(report) if report else None,
        "runs": _clean(of_frame(found.every_run)),
        "gate": vars(gate) if gate else None,
    }
    return found.finding.model_dump(mode="json") | about


def _of_power(power: PlannedPower | None) -> Document | None:
    """What a planned sweep can find: the noise, effects and probabilities."""
    if power is None:
        return None
    noise = None if power.noise is None else vars(power.noise)
    frames = {"effects": of_frame(power.effects), "curves": of_frame(power.curves)}
    return {"sentence": power.sentence, "blocks": power.blocks, "noise": noise, **frames}


def _clean(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _clean(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_clean(value) for value in content]
    if content is pd.NA or (isinstance(content, float) and not math.isfinite(content)):
        return None
    return content.item() if hasattr(content, "item") else content
