"""The highest rate within a limit, from runs that are made up: response times follow a curve."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hdbkit
from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.api import executing, max_rate
from hdbkit.config import Load, TprocCSpec, preparation
from hdbkit.errors import InputError
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import RunResult
from hdbkit.widgets import MaxRatePanel
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import DETAILS, figures, write_run

CAPACITY = 1000.0
ONE = pd.DataFrame(dict.fromkeys((*columns.OPERATIONS, *DETAILS), 0), index=[0])


def of_run(rate: float | None, **line: Any) -> RunResult:
    """The result of a run: its p95 is 10 ms at half of the capacity, 20 ms at 3/4 of it."""
    p95_us = None if rate is None else 5000 / max(1 - rate / CAPACITY, 0.01)
    known = {"count": 1000, "committed": 1000, "rolled_back": 0, "failed": 0, "retries": 0, "mean_us": 5000.0}
    service = dict.fromkeys(("p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"), 5000.0)
    schedule = {"offered_per_s": rate, "achieved_per_s": rate, "due": 1000, "begun": 1000, "late": 0, "skipped": 0,
                "backlog": {"start": 0, "end": 0}, "lateness": {}, "saturated": False}  # fmt: skip
    found = known | service | {"response": {"p95_us": p95_us}} | line
    schedules = {} if rate is None else {"schedule": schedule}
    return figures(1.0, operations={"new_order": found}, operations_per_s=CAPACITY, **schedules)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, results: Path) -> list[str]:
    """The ids of the runs that are made up in place of measured ones."""
    ids: list[str] = []

    def run(plan: RunPlan, root: Path, _: object) -> Manifest:
        ids.append(plan.run_id)
        one = write_run(root / plan.run_id, plan=plan, rows=ONE)
        done: Manifest = one.manifest.model_copy(update={"result": of_run(plan.load.rate)})
        one.folder.write(done)
        return done

    monkeypatch.setattr(executing, "execute", run)
    monkeypatch.setattr(max_rate, "settled", lambda _, __, ___, load: (TprocCSpec(warehouses=1), load))
    monkeypatch.setattr(preparation, "REST_S", 0.0)
    return ids


def test_the_highest_rate_is_found_reported_and_read_again(command: HdbkitCommand, made: list[str]) -> None:
    typed = ("find-max", "nulldb:///x", "--limit", "p95=20ms", "-u", 4, "--blocks", 3, "--label", "top", "--json")
    said = command(*typed)
    found = said.json
    assert found["more"]["rate"] == pytest.approx(750, rel=0.01)
    assert found["more"]["low"] < 750 < found["more"]["high"]
    assert found["answer"].startswith(
        "The highest rate at which the p95 of the response time of new_order stays within 20 ms is 7"
    )
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "hdbkit find-max nulldb:///x" in page
    assert "--label top" in page
    assert {one["within"] for one in found["runs"]} == {True, False}
    assert all(one["within"] == (one["rate"] < 750) for one in found["runs"])
    count = len(made)
    assert command("resume", "last", "--json").json == found
    assert "simultaneous" not in command("resume", "last").out, "it compares nothing"
    assert len(made) == count, "nothing is measured again"


def test_the_panel_shows_the_runs_the_answer_and_the_chart(made: list[str]) -> None:
    hdbkit.find_max("nulldb:///x", "p95=20ms", load=Load(virtual_users=4), blocks=3)
    panel = MaxRatePanel()
    with pytest.raises(InputError, match="no search was started here"):
        panel.wait()
    found = panel.attach().wait()
    assert found.answer in panel.view.outcome.value
    assert len(panel.view.charts.view.charts) == 1
    assert len(re.findall("(within|beyond), [0-9]", panel.view.grid.value)) == len(made) - 1
    assert panel.limit.value == "p95=20ms"
    assert "blocks=3" in panel._call.value
    assert panel.view.report.box.layout.display == ""
    panel.close()


def test_each_run_has_a_schedule_of_its_own(made: list[str]) -> None:
    found = hdbkit.find_max("nulldb:///x", "p95=20ms", load=Load(rate=100, seed=5), blocks=2)
    loads = [one.result.manifest.plan.load for one in found.made]
    assert [one.seed for one in loads] == [*range(5, 5 + len(loads))]
    assert found.cells["runs"].sum() == len(found.runs)
    assert found.cells["cell"].str.endswith(" per second").all()
    columns = ["cell", "baseline", "virtual_users", "ratio", "low", "high", "verdict", "sentence"]
    assert (list(found.comparisons), len(found.comparisons)) == (columns, 0)
    assert loads[0].rate == 100, "with a rate the search begins there"
    assert "--rate 100" in found.command
    assert "--seed 5" in found.command


@pytest.mark.parametrize(
    ("limit", "load", "sentence"),
    [
        ("95=20ms", Load(), "write a quantile .* such as p95=20ms"),
        ("p95=20", Load(), "a time with its unit"),
        ("p95=0ms", Load(), "must be from 1 us to 1 d"),
        ("p95=1e400ms", Load(), "must be from 1 us to 1 d"),
        ("p95=2d", Load(), "must be from 1 us to 1 d"),
        ("p95=20ms", Load(iterations=5), "omit iterations and latency_limit_ms"),
        ("p95=20ms", Load(steps="5 s at 10/s"), "sets the rate of each run itself; omit steps"),
        ("p95=20ms", Load(keying_and_thinking=True), "omit keying_and_thinking"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(made: list[str], limit: str, load: Load, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        hdbkit.find_max("nulldb:///x", limit, load=load)
    assert not made


def test_an_option_that_is_taken_for_the_limit_is_pointed_to_it(command: HdbkitCommand) -> None:
    for limit in ((), ("--limit", "p95=20ms")):
        said = command("find-max", "nulldb:///x", "--latency-limit-ms", 20, *limit)
        assert (said.code, said.err) == (
            2,
            "hdbkit: find-max measures all operations, so it has no --latency-limit-ms, which skips late ones; give "
            "the limit to search for as --limit, such as --limit p95=20ms\n",
        )


def judged(results: Path, change: Callable[[dict[str, Any]], Any]) -> float:
    """The excess of a run at half of the limit, changed."""
    figures = of_run(500).model_dump()
    change(figures)
    result = RunResult.model_validate(figures)
    one = write_run(results / "one", rows=ONE, load={"rate": 500})
    manifest: Manifest = one.manifest.model_copy(update={"result": result})
    return Limit.parse("p95=20ms").excess(manifest)


@pytest.mark.parametrize(
    ("change", "excess"),
    [
        (dict, -0.6931),
        (lambda result: result["schedule"].update(saturated=True), 0.6931),
        (lambda result: result["operations"]["new_order"].update(failed=50), -0.6931),
        (lambda result: result["operations"]["new_order"].update(failed=51), float("inf")),
        (lambda result: result["operations"]["new_order"]["response"].update(p95_us=None), float("inf")),
    ],
)
def test_a_run_without_its_rate_or_with_too_many_failures_is_beyond_the_limit(
    results: Path, change: Callable[[dict[str, Any]], Any], excess: float
) -> None:
    assert judged(results, change) == pytest.approx(excess, abs=1e-4)
