"""The live state of users that execute lists of operations."""

from __future__ import annotations

import numpy as np
import pytest

from hdbkit.cli import progress
from hdbkit.config import Load
from hdbkit.config.metric import Measure, Metric
from hdbkit.execution.live import InLists, ListProgress, Tick
from hdbkit.results.columns import Outcome
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import Records, record_type
from tests.unit.synthetic import plan_of

METRIC = Metric(name="mean", title="mean of times", unit="s", measure=Measure.GEOMETRIC_MEAN, operations=("a", "b"))


def manifest(lists: list[tuple[list[str], int]], **load: int) -> Manifest:
    return Manifest(
        run_id="a-run", notice="", status=Status.MEASURING, plan=plan_of(load=Load(**load)),
        operations=["a", "b"], metric=METRIC, noun="query", lists=lists,
    )  # fmt: skip


def records(*rows: tuple[int, float, Outcome]) -> Records:
    found = np.zeros(len(rows), record_type({}))
    for record, (user, end_s, outcome) in zip(found, rows, strict=True):
        record["virtual_user"], record["end_ns"], record["outcome"] = user, int(end_s * 1e9), outcome
    return found


def test_each_user_is_at_the_operation_after_the_last_that_it_finished() -> None:
    progress = ListProgress(manifest([(["a", "b"], 2), (["b", "a"], 1)], virtual_users=2))
    assert progress.at(int(1e9), 0).running == (("a", 0.0), ("b", 0.0)), "the run is about to begin"
    assert progress.at(0, int(1e9)).running == (("a", 1.0), ("b", 1.0))
    progress.add([records((0, 2, Outcome.COMMITTED), (1, 3, Outcome.COMMITTED)), records((0, 4, Outcome.FAILED))])
    assert progress.at(0, int(5e9)) == InLists(finished=3, failed=1, planned=6, running=(("a", 2.0), ("a", 1.0)))
    progress.add([records((1, 6, Outcome.COMMITTED))])
    assert progress.at(0, int(7e9)).running == (("a", 3.0),), "the second user is done"


def test_a_limit_of_iterations_ends_a_list() -> None:
    progress = ListProgress(manifest([(["a", "b"], 2)], iterations=3))
    assert progress.at(0, 0).planned == 3
    progress.add([records(*((0, second, Outcome.COMMITTED) for second in (1, 2, 3)))])
    assert not progress.at(0, int(4e9)).running


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (InLists(9, 0, 22, (("q21", 3.14),)), "9 of 22 queries finished; running: q21 (3.1 s)"),
        (InLists(22, 2, 22, ()), "22 of 22 queries finished, 2 of them failed"),
        (
            InLists(0, 0, 132, tuple((f"q{number}", 1.0) for number in range(6))),
            "0 of 132 queries finished; running: q0 (1.0 s), q1 (1.0 s), q2 (1.0 s), q3 (1.0 s) and 2 more",
        ),
    ],
)
def test_the_state_is_a_sentence(state: InLists, words: str) -> None:
    assert state.text("query") == words


def test_a_line_of_such_a_run_has_no_quantile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Seen:
        run_id = "a-run"
        warnings: tuple[str, ...] = ()

        def live(self) -> Seen:
            return self

        def tick(self) -> Tick:
            state = InLists(1, 0, 2, (("b", 0.5),))
            return Tick(Status.MEASURING, 5, 60, 2, METRIC.rate, "a", "query", in_lists=state)

        def close(self) -> None: ...

    monkeypatch.setattr(progress, "_EVERY_S", 0)
    with progress.RunLines() as lines:
        lines(Seen())  # type: ignore[arg-type]
    assert capsys.readouterr().err == "     5.0 s  1 of 2 queries finished; running: b (0.5 s)\n"
