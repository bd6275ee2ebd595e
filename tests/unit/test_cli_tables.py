"""Tables on a narrow screen: texts are wrapped, numbers and run ids are not."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from hdbkit.cli import show

LONG = "checkpoint_completion_target=0.9, synchronous_commit=off"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed, on a screen of 80 columns."""
    text = io.StringIO()
    monkeypatch.setattr(show, "console", Console(file=text, width=80, highlight=False, soft_wrap=True))
    return text


def test_verdicts_with_long_names_fit_80_columns_and_their_numbers_stay_whole(shown: io.StringIO) -> None:
    row = {"label": LONG, "virtual_users": 16, "runs": 8, "metric_value": 123456.0, "ratio": 1.2345, "low": 1.1234}
    frame = pd.DataFrame([{**row, "high": 1.3456, "verdict": "equivalent"}])
    show.console.print(show.table(frame, title="a sweep"))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = shown.getvalue().split()
    assert {"123,456", "1.234", "1.123", "1.346", "synchronous_commit=off", "equivalent"} <= set(words)


def test_a_table_that_fits_is_not_broken(shown: io.StringIO) -> None:
    frame = pd.DataFrame({"run_id": ["20261121-172312-postgresql-c-w4-u2-aui"], "what it was": ["a short text"]})
    show.console.print(show.table(frame))
    assert "20261121-172312-postgresql-c-w4-u2-aui" in shown.getvalue()
    assert "what it was" in shown.getvalue()


def test_a_name_that_is_too_long_is_folded_and_ids_and_numbers_are_not(shown: io.StringIO) -> None:
    run_id, name = "20261121-172312-postgresql-c-w4-u2-aui", "checkpoint_completion_target=" * 4
    frame = pd.DataFrame({"run_id": [run_id], "settings": [name], "metric_value": [1234567.0]})
    show.console.print(show.table(frame))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert run_id in shown.getvalue()
    assert "1,234,567" in shown.getvalue()
    assert name in "".join(line[len(run_id) : -len("1,234,567")].strip() for line in lines[2:])
