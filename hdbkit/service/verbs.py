"""The verbs of the service: each is a request, the role it needs, an example, and the call of the API behind it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hdbkit import api
from hdbkit.api import documents
from hdbkit.api.documents import Document
from hdbkit.config import Load
from hdbkit.config.load import Cache
from hdbkit.errors import InputError
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.hammerdb import is_settings_file
from hdbkit.results.folder import only_one
from hdbkit.service import requests as asked
from hdbkit.service.job_folder import JobCourse
from hdbkit.service.tokens import Role
from hdbkit.workloads import specification

DATA, SITES = "data", "sites"
"""Folders of the results folder: files that datagen wrote, and sites."""


def _data_folder(name: str) -> Path:
    """The folder of files that datagen wrote."""
    return api.DEFAULT.results / DATA / name


Performed = Callable[[Any, JobCourse], Document]


@dataclass(frozen=True)
class Verb:
    """A verb: the model of its request, what it does, and the least role that may ask for it."""

    request: type[asked.Request]
    perform: Performed
    role: Role
    example: Mapping[str, Any]
    occupies: tuple[str, ...] = ("target",)
    """The fields with names of targets that no other job may use meanwhile."""

    @property
    def name(self) -> str:
        """Its name, which is part of its path."""
        return self.request.verb

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        return inspect.getdoc(self.request) or ""

    def needs(self, request: asked.Request) -> Role:
        """The role that this request needs: more if its load does more to the server than to load it."""
        loads: list[Load | None] = getattr(request, "loads", [getattr(request, "load", None)])
        changes = any(load and (load.fault is not None or load.cache is not Cache.WARM) for load in loads)
        resumed = isinstance(request, asked.ResumeRequest) and (request.settings or request.builds)
        return Role.SETTINGS if changes or resumed else self.role

    def targets(self, request: Mapping[str, Any]) -> frozenset[str]:
        """The targets that a job of this request, as it was sent, occupies."""
        named = [request.get(name) or [] for name in self.occupies]
        return frozenset(one for name in named for one in ([name] if isinstance(name, str) else name))


def _run(one: asked.RunRequest, course: JobCourse) -> Document:
    result = api.run(one.target, specification(one.workload), one.load, label=one.label, watch=course.run)
    return documents.of_run(result, result.report())


def _watch(one: asked.WatchRequest, course: JobCourse) -> Document:
    course.say("watching the load of another program")
    load = Load(duration_s=one.duration_s, virtual_users=one.virtual_users, counter_interval_s=1)
    result = api.watch(one.target, load, label=one.label)
    return documents.of_run(result, result.report())


def _build(one: asked.BuildRequest, course: JobCourse) -> Document:
    course.say("loading rows")
    files = _data_folder(one.from_files) if one.from_files else None
    found = api.connect(one.target).build(one.workload, loaders=one.loaders, from_files=files, cluster=one.cluster)
    return documents.of_build(found)


def _check(one: asked.CheckRequest, course: JobCourse) -> Document:
    found = api.connect(one.target).check(one.workload, answers=one.answers, progress=course.say)
    return {"checks": documents.of_frame(found)}


def _check_workload(one: asked.CheckWorkloadRequest, _: JobCourse) -> Document:
    return {"statements": documents.of_frame(api.check_workload(one.target, specification(one.workload)))}


def _datagen(one: asked.DatagenRequest, course: JobCourse) -> Document:
    with _alone(_data_folder(one.name)):
        written = api.datagen(
            one.workload, _data_folder(one.name), format=one.format, chunks=one.chunks,
            progress=lambda done, chunks, rows: course.say(f"{done} of {chunks} chunks, {rows:,} rows written"),
        )  # fmt: skip
    return documents.of_written(written)


def _alone(folder: Path) -> AbstractContextManager[int]:
    """Be the only job that writes a folder. Raises ``InputError`` while there is another."""
    name = f"{folder.parent.name}/{folder.name}"
    return only_one(api.DEFAULT.results, name, f"another job writes {name}; wait until it ends")


def _import(one: asked.ImportRequest, _: JobCourse) -> Document:
    with TemporaryDirectory() as folder:
        file = Path(folder, one.name)
        file.write_text(one.content, encoding="utf-8")
        if not is_settings_file(file):
            found = api.import_results(file)
            left_out = documents.of_frame(found.left_out)
            return {"runs": list(found.run_ids), "left_out": left_out, "remarks": list(found.remarks)}
        made = api.import_settings(file, Path(folder, "made"), benchmark=one.benchmark, database=one.database)
        files = {path.name: path.read_text(encoding="utf-8") for path in made.files}
        return {"files": files, "left_out": documents.of_frame(made.left_out)}


def _site(one: asked.SiteRequest, course: JobCourse) -> Document:
    folder = api.DEFAULT.results / SITES / one.name
    with _alone(folder):
        done = api.site(
            folder, one.runs, where=one.where, title=one.title,
            watch=lambda name, number, pages: course.say(f"page {number} of {pages}: {name}"),
        )  # fmt: skip
    return {"index": str(done.index), "pages": documents.of_frame(done.pages), "skipped": list(done.skipped)}


def _releases(one: asked.ReleasesRequest, course: JobCourse) -> Document:
    planned = api.plan_releases(
        api.DEFAULT.targets.parent / asked.CHECKOUTS / one.checkout, one.refs, database=one.database,
        blocks=one.blocks, workload=one.workload, load=one.load, virtual_users=one.virtual_users,
    )  # fmt: skip
    return _executed(api.plan_slow_commit(planned) if one.bisect else planned, course)


def _drop(one: asked.DropRequest, _: JobCourse) -> Document:
    return {"dropped": api.connect(one.target).drop(one.workload).dropped}


def _doctor(one: asked.DoctorRequest, _: JobCourse) -> Document:
    return {"findings": documents.of_frame(api.doctor(one.target, workload=one.workload))}


def _sweep(one: asked.SweepRequest, course: JobCourse) -> Document:
    done = api.sweep(one.target, one.sweep, blocks=one.blocks, watch=course.experiment, watch_run=course.run)
    return documents.of_result(done, done.report())


def _plan(one: asked.PlanRequest, _: JobCourse) -> Document:
    planned = api.plan_sweep(one.target, one.sweep, blocks=one.blocks)
    return documents.of_plan(planned, api.planned_power(planned), api.planned_hosts(planned))


def _find_max(one: asked.FindMaxRequest, course: JobCourse) -> Document:
    return _executed(
        api.plan_max_rate(one.target, one.limit, one.workload, one.load, label=one.label, blocks=one.blocks), course
    )


def _profile(one: asked.ProfileRequest, course: JobCourse) -> Document:
    users, workload = one.virtual_users, specification(one.workload)
    planned = api.plan_profile(one.name, one.target, workload, one.load, virtual_users=users, blocks=one.blocks)
    return _executed(planned, course)


def _executed(planned: ExperimentPlan, course: JobCourse) -> Document:
    found = api.run_experiment(planned, watch=course.experiment, watch_run=course.run)
    return documents.of_result(found, found.report())


def _compare(one: asked.CompareRequest, _: JobCourse) -> Document:
    found = api.compare(one.base, one.new)
    gate = None if one.fail_below is None else found.gate(one.fail_below)
    return documents.of_result(found, found.report(), gate)


def _measure_in_turn(one: asked.MeasureInTurnRequest, course: JobCourse) -> Document:
    planned = api.plan_comparison(
        one.base, one.new, together=one.together, slices=one.slices, slice_s=one.slice_s, workload=one.workload,
        load=one.load, virtual_users=one.virtual_users, label=one.label, blocks=one.blocks,
        until_decided=one.until_decided, within_s=one.within_s,
    )  # fmt: skip
    return _executed(planned, course)


def _resume(one: asked.ResumeRequest, course: JobCourse) -> Document:
    found = api.resume_experiment(
        one.id, one.targets, blocks=one.blocks, watch=course.experiment, watch_run=course.run
    )
    return documents.of_result(found, found.report())


def _report(one: asked.ReportRequest, _: JobCourse) -> Document:
    try:
        found: api.Result | api.ExperimentResult = api.result(one.id)
    except InputError as error:
        try:
            found = api.experiment_result(one.id)
        except InputError:
            raise error from None
    return documents.of_result(found, found.report())


def _history(one: asked.HistoryRequest, _: JobCourse) -> Document:
    found = api.history(one.name)
    return documents.of_result(found, found.report())


def _profiles(_: asked.ProfilesRequest, __: JobCourse) -> Document:
    return {"profiles": documents.of_frame(api.profiles())}


def _runs(one: asked.RunsRequest, _: JobCourse) -> Document:
    return {"runs": documents.of_frame(api.runs(one.where))}


def _engines(_: asked.EnginesRequest, __: JobCourse) -> Document:
    return {"engines": documents.of_frame(api.list_engines())}


def _demo(one: asked.DemoRequest, course: JobCourse) -> Document:
    done = api.demo(quick=one.quick, say=course.say, watch=course.experiment, watch_run=course.run)
    return documents.of_result(done, done.report())


_LOAD = {"virtual_users": 8, "rampup_s": 30, "duration_s": 120}
_GRID = {
    "name": "users",
    "factors": {"isolation": ["read_committed", "serializable"]},
    "virtual_users": [4, 16],
    "load": {"rampup_s": 30, "duration_s": 60},
    "blocks": 4,
}
_WHERE = {"where": "status = 'done'"}

_ALL = (
    Verb(asked.RunRequest, _run, Role.RUN,
         {"target": "lab", "load": _LOAD, "label": "nightly"}),
    Verb(asked.WatchRequest, _watch, Role.RUN,
         {"target": "lab", "duration_s": 300}, occupies=()),
    Verb(asked.BuildRequest, _build,
         Role.RUN, {"target": "lab"}),
    Verb(asked.CheckRequest, _check, Role.RUN, {"target": "lab"}),
    Verb(asked.CheckWorkloadRequest, _check_workload, Role.RUN, {"target": "lab", "workload": {"seed": 7}},
         occupies=()),
    Verb(asked.DatagenRequest, _datagen, Role.RUN, {"name": "small", "workload": {"seed": 7}}, occupies=()),
    Verb(asked.ImportRequest, _import, Role.RUN, {"name": "script.tcl", "content": "dbset db pg\nvuset vu 8\n"},
         occupies=()),
    Verb(asked.SiteRequest, _site, Role.RUN, {"name": "public", "where": "status = 'done'"}, occupies=()),
    Verb(asked.ReleasesRequest, _releases, Role.SETTINGS,
         {"checkout": "server-source", "refs": ["REL_17_0", "REL_18_0"], "blocks": 8}, occupies=()),
    Verb(asked.DropRequest, _drop,
         Role.SETTINGS, {"target": "lab"}),
    Verb(asked.DoctorRequest, _doctor, Role.RUN,
         {"target": "lab"}, occupies=()),
    Verb(asked.SweepRequest, _sweep, Role.SETTINGS, {"target": "lab", "sweep": _GRID}),
    Verb(asked.PlanRequest, _plan,
         Role.READ, {"target": "lab", "sweep": _GRID}, occupies=()),
    Verb(asked.FindMaxRequest, _find_max, Role.RUN, {"target": "lab", "limit": "p95=20ms", "load": _LOAD}),
    Verb(asked.ProfileRequest, _profile,
         Role.RUN, {"name": "nightly", "target": "lab", "virtual_users": [1, 4, 16], "blocks": 3}),
    Verb(asked.CompareRequest, _compare, Role.READ, {"base": "before", "new": "after", "fail_below": -0.02},
         occupies=()),
    Verb(asked.MeasureInTurnRequest, _measure_in_turn, Role.RUN,
         {"base": "server-17", "new": "server-18", "load": _LOAD, "blocks": 8}, occupies=("base", "new")),
    Verb(asked.ResumeRequest, _resume, Role.RUN,
         {"id": "20261124-024500-nightly-abcdef", "targets": ["lab"]}, occupies=("targets",)),
    Verb(asked.ReportRequest, _report, Role.READ,
         {"id": "last"}, occupies=()),
    Verb(asked.HistoryRequest, _history, Role.READ,
         {"name": "nightly"}, occupies=()),
    Verb(asked.ProfilesRequest, _profiles,
         Role.READ, {}, occupies=()),
    Verb(asked.RunsRequest, _runs, Role.READ, _WHERE, occupies=()),
    Verb(asked.EnginesRequest, _engines, Role.READ, {},
         occupies=()),
    Verb(asked.DemoRequest, _demo, Role.RUN, {"quick": True}, occupies=()),
)  # fmt: skip
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _ALL}
