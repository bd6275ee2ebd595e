"""The sides of an experiment as users give them: targets, or runs whose work is measured again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hdbkit.api.left_settings import advised
from hdbkit.api.result import Result
from hdbkit.config import Load, Target, WorkloadSpec, load_from
from hdbkit.config.served import option_of_file
from hdbkit.config.target import target_names
from hdbkit.errors import DamagedResult, InputError
from hdbkit.experiment.sides import Side, SidesPlan, finished_runs
from hdbkit.plan import RunPlan
from hdbkit.results.catalog import list_runs, profiles_of
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.servers.private import is_server_folder
from hdbkit.workloads import metric_of, specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import present_schema
from hdbkit.workspace import BareWorkspace


@dataclass(frozen=True)
class Work:
    """What a side measures; without a workload or load of its own it takes the other side's."""

    target: Target
    workload: WorkloadSpec | None = None
    load: Load | None = None
    users: tuple[int, ...] = ()
    """The counts of virtual users of its runs, ascending; empty for a target."""


def work_of(workspace: BareWorkspace, runs: Sequence[Result]) -> Work:
    """What runs measured: the newest run's target, workload and load, at the user counts of all.

    Raises:
        InputError: they belong to a sweep, which alone can set their server again; or their files name what only the
            user may name.
    """
    newest = max(runs, key=lambda one: one.run_id)
    plan = RunPlan.model_validate(newest.manifest.plan)
    if plan.experiment is not None and plan.experiment.settings:
        raise InputError(
            f"run {newest.run_id} belongs to sweep {plan.experiment.experiment_id}, whose settings are not applied "
            "here; give a target, or runs that belong to no sweep"
        )
    if plan.load.cluster and not plan.load.cluster.local:
        raise InputError(
            f"run {newest.run_id} used the load hosts {plan.load.cluster}, which are not taken from its files: "
            "they may come from elsewhere; give the target in place of the run, and --cluster"
        )
    target = _known_target(workspace, plan.target)
    return Work(target, plan.workload, plan.load, tuple(sorted({one.virtual_users for one in runs})))


def _known_target(workspace: BareWorkspace, found: Target) -> Target:
    """The target that a file of results names, if the user's own files describe it alike, or it is an address.

    Files of results may come from elsewhere: commands, files and addresses of agents in them are not used.

    Raises:
        InputError: it is more than an address, and none of the targets here.
    """
    own = [*workspace.private_targets(), *(workspace.target(name) for name in target_names(workspace.targets))]
    if found.server_folder and is_server_folder(found.server_folder):
        own.append(workspace.target(str(found.server_folder)))
    for one in own:
        if one.url == found.url and one.model_dump(exclude={"name"}) == found.model_dump(exclude={"name"}):
            return one
    plain = Target.parse(found.url)
    if plain != found or option_of_file(found.options):
        raise InputError(
            f"files of results describe {found.described} with more than its address, which is not used, as they "
            "may come from elsewhere; give the target in place of the run, or describe it alike in "
            f"{workspace.targets}"
        )
    return workspace.target(plain)


def require_word(word: str, what: str = "a label") -> None:
    """Raise ``InputError`` if a label or name is not one word."""
    if not re.fullmatch(r"[\w.:+-]+", word):
        raise InputError(f"{what} is one word of letters, digits and . : + - _, not '{word}'")


def counts_of(
    works: Mapping[str, Work], load: Load | None, virtual_users: Sequence[int], blocks: int
) -> tuple[int, ...]:
    """The counts of virtual users: as given, else those that all runs of the sides have in common."""
    counts = tuple(dict.fromkeys(virtual_users))
    if not counts and load is not None and "virtual_users" in load.model_fields_set:
        counts = (load.virtual_users,)
    if not counts:
        known = [set(work.users) for work in works.values() if work.users] or [{Load().virtual_users}]
        counts = tuple(sorted(set.intersection(*known)))
        if not counts:
            raise InputError(
                "the sides have no count of virtual users in common; give the counts: --virtual-users 1,4"
            )
    if blocks < 1 or min(counts) < 1:
        raise InputError(f"give counts of virtual users and blocks of 1 or more, not {list(counts)}, {blocks}")
    return counts


def sides_of(
    workspace: BareWorkspace,
    works: Mapping[str, Work],
    *,
    workload: WorkloadSpec | Path | str | None,
    load: Load | None,
    label: str,
) -> tuple[Side, ...]:
    """The sides, with what replaces their workload and parts of their load, for the schemas in their databases.

    Raises:
        InputError: a schema is not there, or the sides have metrics that cannot be compared.
    """
    require_word(label)
    given = load.given if load else {}
    own = [work for work in works.values() if work.load is not None]
    found = []
    for name, work in works.items():
        source = work if work.load is not None or not own else own[0]
        asked = (source.workload or specification(None)) if workload is None else specification(workload)
        spec, driven = settled(
            workspace, work.target, asked, load_from({**(source.load.given if source.load else {}), **given})
        )
        found.append(Side(name=name, target=work.target, workload=spec, load=driven, label=f"{label}-{name}"))
    metrics = [metric_of(workload_of(one.workload), one.load) for one in found]
    if other := next((one for one in metrics if not one.comparable(metrics[0])), None):
        raise InputError(f"runs with different metrics cannot be compared: {metrics[0].title} and {other.title}")
    return tuple(found)


def settled(workspace: BareWorkspace, target: Target, asked: WorkloadSpec, load: Load) -> tuple[WorkloadSpec, Load]:
    """The schema in the database that is asked for, and the load with the options of its workload."""
    with advised(workspace.results, target):
        spec = present_schema(target, asked)
    return spec, workload_of(spec).load(load)


def results_of_sides(workspace: BareWorkspace, folder: ExperimentFolder, plan: SidesPlan) -> dict[str, list[Result]]:
    """The results of each side that are there, in the order of the plan."""
    found = zip(plan.sides, finished_runs(plan, folder), strict=True)
    return {side.name: [Result(run, workspace) for run in runs] for side, runs in found}


def ends_of(workspace: BareWorkspace, kind: type[SidesPlan], column: str, value: str) -> tuple[int, ...]:
    """The numbers of blocks, in all, at which the experiments could end whose runs have this label or profile."""
    runs = (
        profiles_of(list_runs(workspace.results).runs) if column == "profile" else list_runs(workspace.results).runs
    )
    ends: tuple[int, ...] = ()
    for experiment_id in runs.loc[runs[column] == value].sort_values("started")["experiment_id"].dropna().unique():
        with suppress(DamagedResult):  # runs that were copied without their experiment
            plan = experiment_folder(workspace.results, experiment_id).read_plan(kind)
            ends = plan.model_copy(update={"before": ends}).ends
    return ends
