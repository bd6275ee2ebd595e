"""The experiment table in a browser, without a notebook: its module with a model of the same events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit.report.tables import UNKNOWN
from hdbkit.widgets.panels.runs import RunTable
from hdbkit.widgets.parts.base import STATIC
from tests.conftest import PATIENCE_MS

MODEL = """
const state = { view: {}, baseline: "", picked: [] }, heard = {}, sent = [];
window.model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; (heard[`change:${name}`] ?? []).forEach((one) => one()); },
  save_changes: () => {},
  on: (name, action) => (heard[name] ??= []).push(action),
  off: (name, action) => { heard[name] = heard[name].filter((one) => one !== action); },
  send: (message) => sent.push(message),
  give: (bytes) => heard["msg:custom"].forEach((one) => one({ kind: "runs" }, [new TextEncoder().encode(bytes)])),
  sent, state,
};
window.heard = heard;
"""


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Any]:
    made = chromium.new_page(viewport={"width": 1400, "height": 700})
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


def frame(runs: int) -> pd.DataFrame:
    """Runs of two sweeps, of one user count each, with results that rise by one."""
    at = np.arange(runs)
    return pd.DataFrame(
        {
            "run_id": [f"run-{i:05d}" for i in at],
            "experiment_id": np.where(at % 2, "s1", "s0"),
            "virtual_users": np.where(at % 2, 8, 4),
            "buffers": np.where(at % 3, "128MB", "1GB"),
            "name": "the run",
            "course": "",
            "started": (datetime.now(UTC) - timedelta(minutes=5)).isoformat(),
            "metric": "NOPM",
            "metric_value": 1000.0 + at,
            "label": [None if i % 5 else f"<b>{i}</b>" for i in at],
        }
    )


def give(tab: Any, runs: int, **view: Any) -> Any:
    """A page with a table of so many runs."""
    table = RunTable()
    table.show(frame(runs), ["run_id", "buffers", "metric_value", "label"], ["experiment_id"], ["metric_value"])
    module = (STATIC / "run_table.js").read_text(encoding="utf-8").replace("export default", "window.table =")
    style = (STATIC / "run_table.css").read_text(encoding="utf-8")
    tab.set_content(f"<style>{style}</style><div class='hdbkit-panel' id='here'></div>")
    tab.add_script_tag(content=f"{{{MODEL}}}{{{module}}}")
    tab.evaluate("view => { model.state.view = view }", view)
    tab.evaluate("() => { table.render({ model, el: document.getElementById('here') }) }")
    tab.evaluate("bytes => model.give(bytes)", table._content.decode())
    assert tab.evaluate("model.sent") == [{"kind": "hello"}]
    return tab.locator(".hdbkit-runs")


def values(sent: dict[str, Any], runs: int) -> list[Any]:
    """A column of so many runs, as the browser reads it."""
    distinct, places = sent["distinct"], sent["places"]
    return [distinct[at] for at in places or (range(runs) if len(distinct) == runs else [0] * runs)]


def test_what_all_runs_have_is_sent_once() -> None:
    table = RunTable()
    table.show(frame(10_000), ["run_id"], [])
    sent = {one["name"]: one for one in json.loads(table._content)["columns"]}
    assert (sent["metric"]["distinct"], sent["metric"]["places"]) == (["NOPM"], None)
    assert (sent["buffers"]["distinct"], sent["buffers"]["places"][:4]) == (["1GB", "128MB"], [0, 1, 1, 0])
    assert sent["metric_value"]["places"] is None
    assert values(sent["label"], 10_000)[:6] == ["<b>0</b>", None, None, None, None, "<b>5</b>"]


def column(table: Any, index: int) -> list[str]:
    return list(table.locator(f"tr[data-key] td:nth-child({index + 1})").all_inner_texts())


def picked(tab: Any) -> list[str]:
    return list(tab.evaluate("model.state.picked"))


def test_ten_thousand_runs_are_a_few_rows_of_the_page_wherever_it_is_scrolled(tab: Any) -> None:
    table = give(tab, 10_000)
    assert int(table.get_attribute("aria-rowcount")) == 10_001
    for share in (0, 0.4, 1):
        tab.evaluate(
            "s => { const b = document.querySelector('.hdbkit-runs-box'); b.scrollTop = s * b.scrollHeight }", share
        )
        wanted = f"run-{round(share * 9999):05d}"
        tab.wait_for_function(
            """() => { const box = document.querySelector('.hdbkit-runs-box').getBoundingClientRect();
               return [0.2, 0.5, 0.9].every((at) => document.elementFromPoint(box.x + 30, box.y + at * box.height)
                 ?.closest('tr[data-key]')) }"""
        )
        assert table.locator("tr[data-key]").count() < 80
        if share in (0, 1):
            assert table.locator(f"tr[data-key='{wanted}']").count() == 1


def test_a_head_sorts_and_an_unknown_value_is_last(tab: Any) -> None:
    table = give(tab, 12)
    for _ in range(2):
        table.get_by_role("button", name="label").click()
    assert column(table, 3)[:3] == ["<b>5</b>", "<b>10</b>", "<b>0</b>"]
    assert column(table, 3)[-1] == UNKNOWN
    assert table.locator("th[aria-sort=descending]").inner_text() == "label ▾"
    table.get_by_role("button", name="NOPM").click()
    assert column(table, 0)[0] == "1,011"
    assert table.locator("b").count() == 0, "a label is no HTML"


def test_filters_are_chips_and_compare_numbers_as_numbers(tab: Any) -> None:
    table = give(tab, 30)
    field = tab.get_by_label("Search", exact=True)
    for typed, left in (("virtual_users >= 8", 15), ("buffers = '1gb' and virtual_users =", 5), ("run-0000", 2)):
        field.fill(typed)
        assert table.locator("tr[data-key]").count() == left, "as it is typed"
        field.press("Enter")
        assert table.locator("tr[data-key]").count() == left
    assert tab.locator(".hdbkit-count").inner_text() == "2 of 30 runs"
    tab.get_by_role("button", name="buffers = '1gb'").click()
    assert tab.evaluate("model.state.view.filters") == ["virtual_users >= 8", "run-0000"]


def test_groups_state_their_mean_with_its_interval_and_close(tab: Any) -> None:
    table = give(tab, 8)
    tab.get_by_label("group by").select_option("experiment_id")
    heads = table.locator(".hdbkit-group")
    assert heads.nth(0).inner_text().split()[:5] == ["▾", "s0", "4", "runs,", "geometric"]
    assert "geometric mean 1,003 NOPM (95 % interval 999 to 1,007)" in heads.nth(0).inner_text().replace(
        "998.9", "999"
    )
    heads.nth(0).click()
    assert heads.nth(0).get_attribute("aria-expanded") == "false"
    assert [one.split("-")[1] for one in column(table, 1)] == ["00001", "00003", "00005", "00007"]


def test_the_keyboard_moves_selects_and_extends(tab: Any) -> None:
    table = give(tab, 200)
    table.locator("tr[data-key]").first.click()
    assert picked(tab) == ["run-00000"]
    for key in ("ArrowDown", "ArrowDown", " "):
        tab.keyboard.press(key if key != " " else "Space")
    assert picked(tab) == ["run-00000", "run-00002"]
    tab.keyboard.press("End")
    assert tab.evaluate("document.activeElement.dataset.key") == "run-00199"
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    assert picked(tab) == ["run-00198"]
    tab.keyboard.press("End")
    tab.keyboard.press("Shift+Enter")
    assert picked(tab) == ["run-00198", "run-00199"]
    tab.keyboard.press("Control+a")
    assert len(picked(tab)) == 200
    assert table.locator("tr[tabindex='0']").count() == 1


def test_a_baseline_stays_on_top_with_the_change_against_it(tab: Any) -> None:
    table = give(tab, 300, sorted_by="metric_value", descending=True)
    tab.evaluate("model.set('baseline', 'run-00000')")
    assert table.locator(".hdbkit-pinned td").all_inner_texts()[:2] == ["1,000", "baseline"]
    assert column(table, 1)[0] == "+29.9 %"


def test_a_tick_adds_a_run_whose_dot_has_the_colour_of_its_side(tab: Any) -> None:
    table = give(tab, 5, columns=["name", "metric_value", "course", "started"])
    boxes = tab.get_by_role("checkbox", name="select the run")
    assert table.locator("th").all_inner_texts() == ["name", "NOPM", "course", "started"]
    boxes.nth(2).click()
    boxes.nth(0).click()
    assert picked(tab) == ["run-00002", "run-00000"]
    dots = table.locator("tr[data-key] .hdbkit-dot")
    assert [dots.nth(i).get_attribute("style") for i in (2, 0, 1)] == [
        "background: var(--hdbkit-series-1)", "background: var(--hdbkit-series-2)", None,
    ]  # fmt: skip
    assert table.locator("tr[data-key]").first.locator("td").nth(3).inner_text() == "5 min ago"
    tab.wait_for_function("model.sent.length > 1")
    assert sorted(tab.evaluate("model.sent[1].keys")) == [f"run-{i:05d}" for i in range(5)]
    tab.evaluate(
        "() => heard['msg:custom'].forEach((one) => one({ kind: 'outlines' }, "
        '[new TextEncoder().encode(\'{"run-00001": [1, 3, 2], "run-00002": []}\')]))'
    )
    assert table.locator("tr[data-key] polyline").count() == 1


def test_run_and_result_stay_in_sight_when_the_table_is_scrolled_sideways(tab: Any) -> None:
    table = give(tab, 5, columns=["name", "metric_value", "label", "buffers", "experiment_id", "virtual_users"])
    tab.evaluate(
        "() => { const b = document.querySelector('.hdbkit-runs-box'); b.style.width = '620px'; b.scrollLeft = 300 }"
    )
    box = tab.locator(".hdbkit-runs-box").bounding_box()
    first, second = (table.locator("tr[data-key] td").nth(i).bounding_box() for i in (0, 1))
    assert abs(first["x"] - box["x"]) < 3
    assert abs(second["x"] - first["x"] - first["width"]) < 3


def test_columns_are_chosen(tab: Any) -> None:
    table = give(tab, 3)
    tab.locator("summary").click()
    tab.get_by_label("label", exact=True).uncheck()
    assert table.locator("th").all_inner_texts() == ["NOPM", "run_id", "buffers"]


def test_unknown_values_are_null_and_widths_follow_the_content() -> None:
    table = RunTable()
    made = pd.DataFrame({"run_id": ["a", "b"], "x": [1.5, np.nan], "y": [None, "a" * 50], "z": [True, False]})
    table.show(made, ["run_id"], [])
    columns = {one["name"]: one for one in json.loads(table._content)["columns"]}
    assert values(columns["x"], 2) == [1.5, None]
    assert values(columns["y"], 2)[0] is None
    assert values(columns["z"], 2) == [True, False]
    assert (columns["y"]["width"], columns["run_id"]["width"]) == (30, 6)
    assert [columns[name]["numeric"] for name in "xyz"] == [True, False, False]
