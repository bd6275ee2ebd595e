"""The command line: every command has an example and JSON, and covers the API's functions and parameters."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from pydantic import BaseModel

from hdbkit import api
from hdbkit.cli import app, progress
from hdbkit.config.specs import load_fields, spec_fields
from hdbkit.execution.live import Tick
from hdbkit.execution.live_schedule import ScheduleTick
from hdbkit.results.manifest import Status
from hdbkit.workloads.tproc_c import NOPM
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand


def commands() -> Iterator[tuple[str, Any]]:
    """Every command as it is typed, and what typer made of it."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        parts = getattr(command, "commands", None)
        if parts is None:
            yield name, command
        else:
            yield from ((f"{name} {part}", one) for part, one in parts.items())


COMMANDS = dict(commands())

VERBS = {
    "agent": "serve_agent",
    "check": "Connection.check",
    "build": "Connection.build",
    "drop": "Connection.drop",
    "stop": "Running.stop",
    "recover": "Running.recover",
    "report": "Result.report",
    "find-max": "find_max",
    "import": "import_settings",
    "plan": "plan_sweep",
    "resume": "resume_experiment",
    "engine check": "check_engine",
    "engine list": "list_engines",
    "engine new": "new_engine",
    "workload check": "check_workload",
    "workload new": "new_workload",
    "engine operations": "operations",
    "server list": "list_servers",
    "server start": "start_server",
    "server stop": "stop_server",
    "server remove": "remove_server",
    "runs list": "runs",
    "runs show": "result",
    "runs tag": "Result.tag",
    "runs note": "Result.note",
    "runs rm": "Result.remove",
}
"""Commands whose verb hangs on what another verb returns, or has another name; others are functions of the API."""

NO_COMMAND = {
    "connect": "build, check and drop connect",
    "list_databases": "doctor",
    "demo_engines": "demo --workload",
    "find_slow_commit": "releases --bisect",
    "measure_in_turn": "compare --run",
    **dict.fromkeys(
        ("end_private", "private", "private_server", "private_targets"),
        "a server for one process; demo starts its own",
    ),
    **dict.fromkeys(("open_target", "ready"), "a notebook's first cell; commands take the target itself"),
    "default_load": "panels show it before a run; a command line names the phases",
    "running_runs": "runs list shows their status",
    "estimate": "panels show it before a build",
    "import_results": "import of a file with results",
    "Result.users": "runs show --users",
    "Result.tails": "the report has them",
    "verify_certificate": "certify --verify",
    "password_source": "panels show it; a command line says what was wrong instead",
    "Result.require_removable": "runs rm checks it first",
    "Result.with_manifest": "compare uses it for the operations that all runs completed",
    "planned_hosts": "plan prints it",
    "planned_power": "plan prints it, and the commands of each kind",
    **dict.fromkeys(("plan_demo", "plan_demo_engines"), "demo --detach"),
    "show_operations": "run --show",
    "start": "run --detach",
    "start_sweep": "sweep --detach",
    "attach_experiment": "attach and stop take experiments too",
    "experiment_result": "report shows it; attach and resume end with it",
    "run_experiment": "the commands of each kind",
    "start_experiment": "--detach of the commands of each kind, and of resume",
    **dict.fromkeys(
        ("plan_comparison", "plan_max_rate", "plan_profile", "plan_releases", "plan_slow_commit"),
        "the commands of each kind, --detach",
    ),
    "running_experiments": "attach and stop take the one that goes on as 'last'",
    **dict.fromkeys(("Comparison.gate", "Gate.fails"), "compare --fail-below and --strict"),
    "Comparison.report": "compare --report",
    **dict.fromkeys(("Releases.charts", "Releases.report"), "releases writes the report"),
    **dict.fromkeys(("ExperimentResult.charts", "ExperimentResult.report"), "the commands of each kind"),
    **dict.fromkeys(
        (
            f"{kind}.{part}"
            for kind in ("Comparison", "ExperimentResult", "MaxRate", "Profile", "Releases", "SweepResult")
            for part in ("charts_so_far", "evidence", "listing")
        ),
        "parts of panels, pages and screens",
    ),
    **dict.fromkeys(("MaxRate.charts", "MaxRate.report"), "find-max writes the report"),
    **dict.fromkeys(("Comparison.charts", "Result.charts", "SweepResult.charts", "overlay"), "reports show them"),
    **dict.fromkeys(("Profile.charts", "Profile.report"), "history --report"),
    "Connection.schema": "run and build say what is there",
    "Connection.memory_warnings": "sweep shows them before it starts",
    "Connection.problems": "sweep tells them before it starts",
    "Connection.maintain": "run --maintain",
    "Connection.settings": "an API of settings for notebooks; runs show --json has those of a run",
    **dict.fromkeys(("Running.live", "LiveView.tick", "LiveView.close"), "the lines of run and attach"),
    "Running.wait": "attach",
    "RunningExperiment.progress": "experiments, and the lines of sweep and attach",
    "RunningExperiment.stop": "stop takes experiments too",
    "RunningExperiment.wait": "attach takes experiments too",
    "Result.executions": "runs show",
    "latencies": "runs show --json has those of a run",
    "Result.table": "the run folder's Parquet files",
    "Result.seconds": "the run folder's Parquet files",
    "SweepResult.report": "report takes sweeps too",
    "Workspace.target": "a command line has the workspace of its environment",
}
"""Verbs of the API without a command of their own, and where the command line has them."""

NO_VERB = {
    "chart": "Result.charts of the API has all of them",
    "sql show": "prints the project's own files",
    **dict.fromkeys(("serve", "app", "token add", "token list", "token remove"), "the service is above the API"),
}


def option_names(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


def verbs() -> set[str]:
    """The functions of the API, and the methods of what they return and of a workspace that are not among them."""
    public = {name: getattr(api, name) for name in dir(api)}
    found = {name for name, thing in public.items() if inspect.isroutine(thing)}
    for name, thing in public.items():
        if inspect.isclass(thing) and not issubclass(thing, BaseModel | pd.DataFrame):
            methods = {method for method, _ in inspect.getmembers(thing, inspect.isfunction) if method[0] != "_"}
            found |= {f"{name}.{method}" for method in (methods - found if thing is api.Workspace else methods)}
    return found


@pytest.mark.parametrize("words", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_it_understands(command: HdbkitCommand, words: str) -> None:
    said = command(*words.split(), "--help")
    assert said.code == 0
    _, _, examples = said.out.partition("Example: ")
    for example in " ".join(examples.split()).split("; "):
        assert example.startswith(f"hdbkit {words}")


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_speaks_json(words: str) -> None:
    assert "--json" in option_names(COMMANDS[words])


@pytest.mark.parametrize(("words", "fields"), [("run", load_fields()), ("build", spec_fields())])
def test_every_field_of_a_configuration_is_an_option(words: str, fields: dict[str, Any]) -> None:
    named = fields.keys() - {"kind", "folder", "storage"}  # --workload names the first two
    assert {f"--{name.replace('_', '-')}" for name in named} <= option_names(COMMANDS[words])


@pytest.mark.parametrize("words", ["build", "run", "check", "drop", "sweep", "plan", "profile"])
def test_every_verb_about_a_schema_takes_its_scale(words: str) -> None:
    assert {"--workload", "--warehouses", "--parameters"} <= option_names(COMMANDS[words])


def test_the_options_of_each_workload_stand_in_a_section_of_their_own(command: HdbkitCommand) -> None:
    sections = dict(part.split(":\n", 1) for part in command("run", "--help").out.split("\n\n") if ":\n" in part)
    assert "--warehouses" in sections["Schema options (TPROC-C)"]
    assert "--mix" in sections["Load options (TPROC-C)"]
    assert "--weights" in sections["Load options (user-defined)"]
    assert "--duration-s" in sections["Load options"]


def test_every_verb_has_its_command_and_every_command_its_verb() -> None:
    from_commands = {VERBS.get(words, words) for words in COMMANDS if words not in NO_VERB}
    assert not from_commands & NO_COMMAND.keys()
    assert from_commands | NO_COMMAND.keys() == verbs()


ELSEWHERE = {
    "load": "an option per field",
    "fields": "an option per field",
    "options": "an option per field",
    "preparation": "--reset and --cooldown-s",
    "smallest_effect": "a key of the sweep's file",
    "command": "the line itself",
    "spec": "demo: hdbkit sweep",
    "stop": "Ctrl-C",
    "sides": "base and new: the names that Python code gives them",
    "within_s": "panels show the newest runs first; a command line waits for all",
    **dict.fromkeys(("watch", "watch_run", "progress", "build_progress", "say"), "what the screen shows"),
}
"""Parameters of verbs that are no option of the same name, and where the command line has them."""


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in NO_VERB])
def test_every_parameter_of_a_verb_can_be_given(words: str) -> None:
    verb: Any = api
    for part in VERBS.get(words, words).split("."):
        verb = getattr(verb, part)
    asked = inspect.signature(verb).parameters.keys() - {"self"}
    given = {parameter.name for parameter in COMMANDS[words].params}
    assert asked - given <= ELSEWHERE.keys()


def test_the_program_without_arguments_shows_its_commands(command: HdbkitCommand) -> None:
    said = command("--help")
    assert said.code == 0
    assert [name for name in ("doctor", "demo", "sweep", "runs") if name not in said.out] == []


def test_the_question_before_a_drop_names_target_schema_and_workload(
    command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "targets.yaml").write_text("lab: {kind: nulldb, database: x}\n")
    monkeypatch.setenv("HDBKIT_TARGETS", str(tmp_path / "targets.yaml"))
    example = ROOT / "params" / "workloads" / "tpcb-like"
    for words, named in (((), "tproc_c of TPROC-C"), (("-w", example), f"tpcb_like of TPC-B-like ({example})")):
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        said = command("drop", "lab", *words)
        assert said.code == 130
        assert f"Drop schema {named} in lab (nulldb:///x) and all its data?" in said.err


def test_the_p95_on_the_screen_is_that_of_the_headline_operation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Seen:
        run_id = "a-run"
        warnings: tuple[str, ...] = ()

        def live(self) -> Seen:
            return self

        def tick(self) -> Tick:
            return Tick(Status.MEASURING, 5, 60, 2, NOPM, "payment", p95_us={"new_order": 9000, "payment": 1000})

        def close(self) -> None: ...

    monkeypatch.setattr(progress, "_EVERY_S", 0)
    with progress.RunLines() as lines:
        lines(Seen())  # type: ignore[arg-type]
        lines(Seen())  # type: ignore[arg-type]
    said = capsys.readouterr().err
    described = "NOPM (new orders per minute, higher is better); p95: 95 % quantile of the service time of payment"
    assert said.count(described) == 1
    assert said.count("p95    1.00 ms") == 2


def test_the_line_of_an_open_loop_shows_response_time_and_its_schedule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Seen:
        run_id = "a-run"
        warnings: tuple[str, ...] = ()

        def live(self) -> Seen:
            return self

        def tick(self) -> Tick:
            schedule = ScheduleTick(90, 2, (0.1, 1.25, 3), 100, 4)
            return Tick(Status.MEASURING, 5, 60, 2, NOPM, "payment", time="response", schedule=schedule)

    monkeypatch.setattr(progress, "_EVERY_S", 0)
    progress.RunLines()(Seen())  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert "quantile of the response time of payment" in said
    assert said.endswith("errors 0  offered 100/s, late p99 1.25 ms, backlog 4, busy sessions 2\n")
