"""Makes the pictures of the documents, in ``docs/images``: ``python docs/pictures.py [FOLDER]``; about two minutes.

It starts a private PostgreSQL and ``hdbkit app``, measures for some seconds as the tutorial does, and opens the pages
in chromium. ``report.png`` is of a sweep of more blocks and is not made here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from playwright.sync_api import Page, sync_playwright

import hdbkit
from hdbkit.client import Client
from hdbkit.servers import private_server
from hdbkit.service.requests import RunRequest

WIDTH, HEIGHT = 1280, 860
USERS, RAMPUP_S, DURATION_S = 4, 2, 20
WAREHOUSES = 2


def main(folder: Path) -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as place, private_server() as server:
        home = Path(place)
        entry = server.target.model_dump(mode="json", exclude_defaults=True) | {"kind": server.target.kind}
        (home / "targets.yaml").write_text(yaml.safe_dump({"lab": entry | {"may_change_settings": True}}))
        os.environ |= {"HDBKIT_RESULTS": str(home / "results"), "HDBKIT_TARGETS": str(home / "targets.yaml")}
        hdbkit.connect("lab").build(warehouses=WAREHOUSES)
        hdbkit.run("lab", load=hdbkit.Load(virtual_users=USERS, rampup_s=RAMPUP_S, duration_s=DURATION_S))
        command = [sys.executable, "-m", "hdbkit", "app", "--listen", "127.0.0.1:0", "--no-tls", "--json"]
        with subprocess.Popen([*command, "--state", str(home / "state")], stdout=subprocess.PIPE) as app:
            assert app.stdout is not None
            text = b""
            while not text.rstrip().endswith(b"}"):
                text += app.stdout.readline()
            try:
                take(folder, json.loads(text))
            finally:
                app.terminate()


def take(folder: Path, app: dict[str, str]) -> None:
    """Take the pictures of the pages of a service."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(200_000)
        page.goto(app["url"])
        page.fill("#token", app["token"])
        page.click("text=Sign in")
        client = Client(app["url"], app["token"])
        load = hdbkit.Load(virtual_users=USERS, rampup_s=RAMPUP_S, duration_s=DURATION_S)
        job = client.start(RunRequest(target="lab", label="after", load=load)).job_id
        page.goto(f"{app['url']}/jobs/{job}")
        page.get_by_text("measuring").wait_for()
        page.wait_for_timeout(DURATION_S * 800)
        page.screenshot(path=folder / "job.png")
        client.wait(job)
        page.goto(f"{app['url']}/jobs/{job}")
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / "result.png")
        panels(page, folder)
        browser.close()


def panels(page: Page, folder: Path) -> None:
    """The panel of a run, while it runs."""
    page.click("nav >> text=Panels")
    page.click("text=Shared workspace")
    page.get_by_role("button", name="Test connection").wait_for()
    page.get_by_placeholder("a name in the targets file").fill("lab")
    page.get_by_role("button", name="Test connection").click()
    page.locator(".hdbkit-state", has_text="connected").first.wait_for()
    page.get_by_role("tab", name="Run", exact=True).click()
    page.locator("input[type=number]:visible").first.fill(str(USERS))
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("measuring").wait_for()
    page.wait_for_timeout(DURATION_S * 800)
    page.screenshot(path=folder / "panels.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("images"))
