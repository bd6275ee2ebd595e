"""The pages in a real browser: a job is watched and read; narrow and wide, light and dark, accessible."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.config import Target
from hdbkit.report.run_report import run_report
from hdbkit.service.job_folder import JobFolder
from tests.accessibility import FITS, serious
from tests.conftest import PATIENCE_MS
from tests.unit.services import Service, written_job
from tests.unit.synthetic import with_result, write_run
from tests.widgets.conftest import build_null, until

pytestmark = [pytest.mark.browser, pytest.mark.flaky(reruns=1)]
LOOKS = (("light", 1280), ("dark", 400))


@pytest.fixture
def reported(place: Workspace) -> JobFolder:
    """A job that has ended, with the report of its run."""
    folder = written_job(place, 1)
    run = with_result(write_run(place.results / "a-run", duration_s=10))
    (folder.path / "result.json").write_text(json.dumps({"report": str(run_report(run.folder))}))
    return folder


def test_a_browser_signs_in_and_reads_jobs(chromium: Any, reported: JobFolder, service: Service) -> None:
    address = f"http://127.0.0.1:{service.clients['settings'].port}"
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page, said, asked = context.new_page(), [], set()
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.add(request.url.split("/", 3)[2]))
    page.goto(address)
    hold(page)
    page.fill("#token", service.clients["settings"].token)
    page.click("text=Sign in")
    page.locator(".hdbkit-run-list").wait_for()
    hold(page)
    page.click(".hdbkit-run-list th a")
    page.locator(".plot .xtick text").first.wait_for()
    hold(page)
    page.click("nav >> text=Jobs")
    page.fill("#search", "lab label-1")
    page.click("main button")
    hold(page)
    page.click("text=run · lab · label-1")
    page.locator(".plot .xtick text").first.wait_for()
    hold(page)
    assert page.locator(".plot").count() >= 4
    page.goto(f"{address}/targets")
    hold(page)
    page.goto(f"{address}/jobs/{service.post('engines', {}).json()['job_id']}")
    page.locator("#state.good").wait_for()  # the page is loaded again when the job has ended
    assert "nulldb" in page.inner_text("main")
    assert (said, asked) == ([], {address.partition("://")[2]})
    page.click("text=Sign out")
    page.locator("#token").wait_for()
    context.close()


def test_the_chart_of_a_running_job_follows_the_run(chromium: Any, service: Service) -> None:
    client, load = service.clients["settings"], {"rate": 50, "rampup_s": 0, "duration_s": 60}
    database = f"b{uuid.uuid4().hex[:12]}"
    target = build_null(Target.parse(f"nulldb:///{database}"))
    (service.folder / "targets.yaml").write_text(f"lab: {{kind: nulldb, database: {database}}}\n")
    job = service.post("run", {"target": "lab", "load": load}).json()["job_id"]
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"http://127.0.0.1:{client.port}/jobs/{job}")
    page.fill("#token", client.token)
    page.click("text=Sign in")
    page.goto(f"http://127.0.0.1:{client.port}/jobs/{job}")
    seen = set[float]()

    def drawn() -> bool:
        seen.add(page.evaluate("document.getElementById('chart-live')._fullLayout?.xaxis.range[1] ?? 0"))
        return len(seen) > 5  # the first two points are drawn in any case

    until(drawn)
    page.click("text=Stop")
    page.locator("#state", has_text="stopped").wait_for()
    page.close()
    api.connect(target).drop()


def hold(page: Any) -> None:
    """Check in each look that a page does not scroll sideways and that axe-core finds nothing serious."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("html").evaluate(FITS)
        assert serious(page) == []
