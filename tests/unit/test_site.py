"""A site of results: pages without scripts of their own, an index with search, and no file that is not its own."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.api.batch_index import write_batch_index
from hdbkit.errors import InputError
from hdbkit.report.notebook_page import _cleaned, markdown_html, notebook_page
from hdbkit.results.batch_folder import BatchFolder, JobRecord, JobStatus
from tests.accessibility import serious
from tests.conftest import PATIENCE_MS, HdbkitCommand
from tests.unit.synthetic import with_result, write_run

EVIL = '<img alt="" src=x onerror="document.title = \'owned\'">'


def write_notebook(path: Path, run_id: str) -> Path:
    """An executed notebook: hostile text, a printed id, a card, a chart of ours, HTML that would execute."""
    (chart,) = [one for one in api.result(run_id).charts().values() if one.key == "throughput"]
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": [f"\x1b[1m{run_id}\x1b[0m\n"]},
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": api.result(run_id)._repr_html_()}},
        *({"output_type": "display_data", "metadata": {}, "data": one} for one in chart.in_notebook()),
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": f"{EVIL}<script>alert(1)</script>"}},
        {"output_type": "display_data", "metadata": {}, "data": {"text/plain": ["<b>plain"]}},
    ]
    text = f"# Nightly\nSee [the docs](https://example.org) and [a file](other.ipynb). {EVIL}"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": text},
        {"cell_type": "code", "metadata": {}, "source": "hdbkit.result()", "outputs": outputs, "execution_count": 1},
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, and a notebook that shows the first."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("20261101-120000-nulldb-c-w1-u2-aaaaaa", "20261102-120000-nulldb-c-w1-u2-bbbbbb"):
        with_result(write_run(folder / name, duration_s=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HDBKIT_RESULTS", str(folder))
        write_notebook(folder / "nightly.ipynb", "20261101-120000-nulldb-c-w1-u2-aaaaaa")
    return folder


@pytest.fixture
def results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HDBKIT_RESULTS", str(folder))
    return folder


def test_a_site_of_chosen_results_replaces_an_earlier_one(
    results: Path, tmp_path: Path, command: HdbkitCommand
) -> None:
    site, notebook = tmp_path / "site", str(results / "nightly.ipynb")
    said = command("site", site, "aaaaaa", notebook, "--title", "Release <2>", "--json")
    assert said.code == 0
    assert {(one["kind"], one["state"]) for one in said.json["pages"]} == {("run", "done"), ("notebook", "done")}
    index = (site / "index.html").read_text()
    assert "<h1>Release &lt;2&gt;</h1>" in index
    line = index.partition('<tr data-run="20261101-120000-nulldb-c-w1-u2-aaaaaa"')[2].partition("</tr>")[0]
    assert f'class="n value" style="--share: 100.0%">{api.result("aaaaaa").metric_value:,.0f}</td>' in line
    assert 'href="runs/20261101-120000-nulldb-c-w1-u2-aaaaaa.html"' in line and "ago" not in line
    assert 'href="runs/20261101-120000-nulldb-c-w1-u2-aaaaaa.html">20261101' in index, "the notebook's result"
    said = command("site", site)
    assert said.code == 0
    assert sorted(one.name for one in (site / "runs").iterdir()) == [
        f"{one.run_id}.html" for one in reversed(list(all_runs()))
    ]
    assert not list((site / "notebooks").iterdir()), "a page that the new site has not"


def all_runs() -> Any:
    return api.runs().itertuples()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["zzzzzz"], "zzzzzz"), (["none.ipynb"], "there is no notebook"), (["--where", "nope = 1"], "no column nope")],
)
def test_what_is_not_there_changes_nothing(
    results: Path, tmp_path: Path, command: HdbkitCommand, words: list[str], said: str
) -> None:
    answer = command("site", tmp_path / "site", *words)
    assert answer.code == 2
    assert said in answer.err
    assert not (tmp_path / "site").exists()


def test_a_folder_with_something_else_is_refused(results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="something else than a site"):
        api.site(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_a_notebook_becomes_text_charts_and_links(results: Path) -> None:
    read = notebook_page(results / "nightly.ipynb")
    assert (read.title, read.ids) == ("Nightly", ["20261101-120000-nulldb-c-w1-u2-aaaaaa"])
    assert "NOPM" in read.answer
    assert read.thumbnail.startswith("<img")
    assert "\x1b" not in read.content.body
    assert "&lt;b&gt;plain" in read.content.body
    (chart,) = json.loads(read.content.charts)["charts"].values()
    assert "title" not in chart["figure"]["layout"]


@pytest.mark.parametrize(
    "html",
    [
        '<meta http-equiv="refresh" content="0; url=https://evil.example">', "<script>evil()</script>",
        '<form action="https://evil.example"><input name="token"><button>Sign in</button></form>',
        '<base href="https://evil.example">', '<iframe src="https://evil.example"></iframe>',
        '<svg><foreignObject><script>evil()</script></foreignObject></svg>', '<svg onload="evil()"><g></g></svg>',
        '<a href="javascript:evil()">evil</a>', '<img src="x" onerror="evil()">', '<object data="evil"></object>',
        '<link rel="stylesheet" href="https://evil.example">', "<style>@import 'https://evil.example';</style>",
        '<svg><a xlink:href="javascript:evil()"><text>x</text></a></svg>', '<svg><animate onbegin="evil()"/></svg>',
        '<div style="position:fixed;inset:0;z-index:9;background:#fff">Sign in</div>',
    ],
)  # fmt: skip
def test_what_a_notebook_kept_executes_sends_and_leads_nowhere(html: str) -> None:
    kept = f'<table class="a"><tr><td style="color: red">kept</td></tr></table>{html}'
    made = _cleaned(kept)
    assert '<td style="color:red">kept</td>' in made
    assert not re.search(
        r"evil\.example|evil\(|<(meta|form|input|base|iframe|object|link|style|script)|position|z-index", made
    )


def test_the_cards_and_drawings_of_a_notebook_are_kept(results: Path) -> None:
    card = api.result("20261101-120000-nulldb-c-w1-u2-aaaaaa")._repr_html_()
    made = _cleaned(f'{card}<svg viewBox="0 0 2 2" width="9"><path d="M0 0 L1 1" style="fill: red"></path></svg>')
    for part in ('class="hdbkit-card', 'class="hd-answer"', 'viewBox="0 0 2 2"', '<path d="M0 0 L1 1"', "<details"):
        assert part in made


def test_the_index_of_a_batch_has_verdicts_thumbnails_links_and_what_failed(results: Path, tmp_path: Path) -> None:
    folder, run_id = BatchFolder(tmp_path / "batches" / "nightly"), "20261101-120000-nulldb-c-w1-u2-aaaaaa"
    at = datetime(2026, 11, 1, tzinfo=UTC)
    (tmp_path / run_id).mkdir()
    (tmp_path / run_id / "report.html").touch()
    write_notebook(folder.executed("good"), run_id)
    done = JobRecord(key="k", params="good.yaml", status=JobStatus.DONE, started=at, seconds=61.0)
    broken = done.model_copy(update={"status": JobStatus.FAILED, "params": "bad.yaml", "error": "no such target"})
    folder.note(results / "nightly.ipynb", "good", done)
    folder.note(results / "nightly.ipynb", "bad", broken)
    page = write_batch_index(folder, tmp_path, 3).read_text()
    assert "2 of 3 notebooks were executed; 1 failed" in page
    bad, good = sorted(page.split('class="thumbnail"')[1:], key=lambda one: "good.html" in one)
    assert "no such target" in bad and 'href="good.html"' in good
    assert "<img" in good and "NOPM" in good and 'href="good.ipynb"' in good
    assert f'href="../../{run_id}/report.html"' in good
    assert (folder.path / "good.html").is_file()


def test_markdown_keeps_no_html_and_no_link_to_a_file() -> None:
    made = markdown_html(f"[a](https://example.org) [b](b.ipynb) ![c](c.png) {EVIL}\n\n| x |\n| --- |\n| 1 |")
    assert '<a href="https://example.org">a</a> b c &lt;img' in made
    assert "<td>1</td>" in made


@pytest.mark.browser
@pytest.mark.flaky(reruns=1)
def test_a_site_searches_and_draws_from_a_folder_and_executes_nothing_of_a_notebook(
    chromium: Any, results: Path, tmp_path: Path
) -> None:
    api.site(tmp_path / "site", ["aaaaaa", "bbbbbb", str(results / "nightly.ipynb")])
    context = chromium.new_context(offline=True, viewport={"width": 700, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page, said = context.new_page(), []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "site" / "index.html").as_uri())
    assert serious(page) == []
    page.fill("#words", "bbbbbb")
    assert page.locator("[data-run]:visible").count() == 1
    page.reload()
    assert page.locator("#count").inner_text() == "1 of 3 results"
    page.select_option("#filter-kind", "notebook")
    assert page.locator("#none").is_visible()
    page.click("text=Clear")
    page.click("text=nightly")
    page.wait_for_selector(".plot[data-drawn] svg .xtick text")
    assert page.locator(".hdbkit-chart-tools button:visible").all_inner_texts() == ["PNG", "SVG"]
    assert page.title() == "Nightly"
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    page.click("text=All results")
    page.click("[data-run] a >> nth=0")
    page.wait_for_selector(".plot[data-drawn]")
    assert said == []
    context.close()
