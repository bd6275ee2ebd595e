"""The pages of the service: who sees them, what a form needs, and that no text of a user becomes markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from pydantic import ValidationError

from hdbkit.api import Workspace
from hdbkit.report import page
from hdbkit.report.run_report import run_report
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.service import sessions
from hdbkit.service.job_folder import JobFolder, State
from hdbkit.service.pages.rendering import STATIC_FILES
from hdbkit.service.sessions import BrowserSessions
from hdbkit.service.tokens import Role, Tokens
from tests.unit.services import Answer, Client, Service, written_job
from tests.unit.synthetic import with_result, write_run

SAME = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
HTML = {"accept": "text/html"}
MARKUP = "<script>alert(1)</script>"
RUN = "20261101-120000-nulldb-c-w1-u2-aaaaaa"


class Browser:
    """Sends requests with a session's cookie."""

    def __init__(self, service: Service, role: str) -> None:
        self._client = Client(service.clients[role].port, "")
        answer = self.post("/sign-in", {"token": service.clients[role].token}, with_form_token=False)
        assert answer.status_code == 303, answer.text
        self.set_cookie = answer.headers["set-cookie"]
        self.cookie = self.set_cookie.partition(";")[0]
        found = re.search(r'name="form_token" value="([^"]+)"', self.get("/").text)
        assert found
        self.form_token = found[1]

    def get(self, path: str) -> Answer:
        return self._client.send("GET", path, headers={**HTML, "cookie": self.cookie})

    def post(
        self, path: str, fields: dict[str, str], head: dict[str, str] | None = None, with_form_token: bool = True
    ) -> Answer:
        sent = {**fields, "form_token": self.form_token} if with_form_token else fields
        cookie = {"cookie": self.cookie} if hasattr(self, "cookie") else {}
        return self._client.send("POST", path, urlencode(sent), {**SAME, **cookie, **(head or {})})


def test_a_browser_is_sent_to_sign_in_and_its_cookie_reads_pages_but_not_the_api(service: Service) -> None:
    unknown = Client(service.clients["read"].port, "")
    sent = unknown.send("GET", "/jobs/a", headers=HTML)
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in")
    assert unknown.get("/targets").status_code == 401
    browser = Browser(service, "read")
    assert browser.set_cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert "No job has been started yet" in browser.get("/jobs").text
    head = browser.get("/").headers
    assert head["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert (head["x-frame-options"], head["cache-control"]) == ("DENY", "no-store")
    with_cookie = {"cookie": browser.cookie}
    for path in ("/api/jobs", "/api/openapi.json", "/api/jobs/a/live"):
        assert unknown.send("GET", path, headers=with_cookie).status_code in (401, 429)
    assert "read" not in json.dumps([one for one in service.audit() if one["path"] == "/sign-in"])


def test_a_wrong_token_is_told_and_after_several_the_address_waits(service: Service) -> None:
    client = Client(service.clients["read"].port, "")
    answers = [client.send("POST", "/sign-in", urlencode({"token": f"wrong{n}"}), SAME) for n in range(6)]
    assert [one.status_code for one in answers] == [401] * 5 + [429]
    assert "the token is unknown or has expired" in answers[0].text
    assert not any("set-cookie" in one.headers for one in answers)
    Browser(service, "read")  # a valid one is accepted meanwhile


def test_a_session_ends_with_its_token_when_it_is_old_and_when_its_user_signs_out(
    service: Service, place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browsers = {role.value: Browser(service, role.value) for role in Role}
    service.tokens.remove("read")
    assert browsers["read"].get("/").status_code == 303
    assert browsers["run"].post("/sign-out", {}).headers["set-cookie"].endswith("; Max-Age=0")
    assert browsers["run"].get("/").status_code == 303
    assert browsers["settings"].get("/").status_code == 200
    monkeypatch.setattr(sessions, "LIFE_S", 0.0)
    assert browsers["settings"].get("/").status_code == 303
    secure = BrowserSessions(service.tokens, secure=True).sign_in(service.clients["settings"].token)
    assert secure is not None
    assert secure.startswith("__Host-hdbkit=")
    assert secure.endswith("; Secure")


def test_a_form_needs_its_session_and_this_site(service: Service) -> None:
    browser, other = Browser(service, "read"), Browser(service, "read")
    for head in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "", "origin": "http://evil.example"},
        {"sec-fetch-site": "", "origin": "null"},
        {"content-type": "application/json"},
        {"content-type": "text/plain"},
    ):
        assert browser.post("/sign-out", {}, head).status_code in (403, 422), head
    assert browser.post("/sign-out", {}, with_form_token=False).status_code == 403
    assert browser.post("/sign-out", {"form_token": other.form_token}, with_form_token=False).status_code == 403
    assert browser.get("/").status_code == 200
    assert browser.post("/jobs/20260101-run-1/stop", {}).status_code == 403  # its role is read


@pytest.fixture
def hostile(place: Workspace) -> JobFolder:
    """A failed job of a user who tries to have browsers run a script."""
    folder = written_job(place, 7)
    request = {"target": MARKUP, "label": "'\"><img src=x onerror=alert(1)>"}
    folder.note(folder.asked.model_copy(update={"request": request}))
    folder.end(State.FAILED, f"failed: {MARKUP}")
    (folder.path / "result.json").write_text(json.dumps({"rows": [{MARKUP: MARKUP}], MARKUP: {"a": MARKUP}}))
    return folder


def test_no_text_of_a_job_becomes_markup(hostile: JobFolder, service: Service) -> None:
    browser, folder = Browser(service, "read"), hostile
    for path in ("/jobs", f"/jobs/{folder.path.name}", f"/jobs?search={urlencode({'': MARKUP})[1:]}"):
        text = browser.get(path).text
        assert "alert" in text
        assert "<script>alert" not in text
        assert "<img" not in text


@pytest.mark.parametrize("path", ["/jobs/..%2f..%2fetc", "/jobs/a%00b", "/static/..%2fsite.css", "/start/run", "/x"])
def test_what_is_not_there_is_told_by_a_page(service: Service, path: str) -> None:
    answer = Browser(service, "read").get(path)
    assert answer.status_code in (404, 422)
    assert "<h1>Error" in answer.text


def test_the_files_of_the_pages_need_no_token_and_name_no_other_host(service: Service) -> None:
    client = Client(service.clients["none"].port, "")
    for path, kind in STATIC_FILES.items():
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        assert "plotly" in path or not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", answer.text)


def test_only_a_report_of_the_results_folder_is_shown(
    hostile: JobFolder, place: Workspace, service: Service, tmp_path: Path
) -> None:
    browser = Browser(service, "read")
    inside = place.results / "comparisons" / "one.html"
    inside.parent.mkdir(parents=True)
    for path, text in ((tmp_path / "secret.html", "secret"), (inside, "shown")):
        stored = {"body": f"<header>{text}</header>", "charts": {}}
        page.content_file(path).write_text(json.dumps({**stored, "seal": page._seal(stored)}))
    for path, text in ((tmp_path / "secret.html", "secret"), (inside, "shown")):
        (hostile.path / "result.json").write_text(json.dumps({"report": str(path)}))
        found = f'<article class="report"><header>{text}' in browser.get(f"/jobs/{hostile.path.name}").text
        assert found == (path == inside)
    assert page.read_content(tmp_path / "nothing.html") is None


def test_a_stored_report_that_came_from_elsewhere_or_was_changed_is_not_shown_but_made_anew(
    place: Workspace, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = with_result(write_run(place.results / RUN, duration_s=3)).folder
    monkeypatch.setattr(page, "_written", set())  # as in a later process
    false = '<meta http-equiv="refresh" content="0; url=https://evil.example"><form action="/sign-in">'
    browser, stored = Browser(service, "read"), page.content_file(run.report)
    for foreign in ({"body": false, "charts": {}}, {"body": false, "charts": {}, "seal": "0" * 64}, {"body": 1}, []):
        stored.write_text(json.dumps(foreign))
        shown = browser.get(f"/runs/{RUN}")
        assert shown.status_code == 200
        assert false not in shown.text
        assert "evil.example" not in shown.text
        assert json.loads(stored.read_text()) == foreign, "nothing is written to the folder of the run"
    run_report(run)
    page._written.clear()
    own = page.read_content(run.report)
    assert own is not None
    stored.write_text(stored.read_text().replace("Reproduce", "Reproduced"))
    assert page.read_content(run.report) is None


def test_no_text_of_a_foreign_run_becomes_markup_in_any_page(place: Workspace, service: Service) -> None:
    run = with_result(write_run(place.results / RUN, duration_s=3)).folder
    (run.path / "settings.json").write_text(
        json.dumps({MARKUP: {"value": MARKUP, "unit": MARKUP, "default": "1", "changed": True}})
    )
    plan = {"arguments": {MARKUP: MARKUP}, "text": MARKUP, "content": MARKUP}
    (run.path / "plans.json").write_text(json.dumps({MARKUP: plan}))
    assert _with_hostile_texts(run) > 30
    browser = Browser(service, "read")
    result, site = place.result(RUN), place.site(place.results.parent / "site").index.parent
    pages = {
        "run": browser.get(f"/runs/{RUN}").text,
        "list": browser.get("/").text,
        "filter": browser.get(f"/?{urlencode({'where': MARKUP})}").text,
        "report": run_report(run).read_text(),
        "card": result._repr_html_(),
        "runs": place.runs().html(),
        "charts": json.dumps([one.spec()["figure"] for one in result.charts().values()]),
        "site": "".join(one.read_text() for one in site.rglob("*.html")),
    }
    for name, text in pages.items():
        assert MARKUP not in text, name
    assert "&lt;script&gt;alert(1)" in pages["run"]


def _with_hostile_texts(run: RunFolder) -> int:
    """Put markup in every text of a manifest in which any text is valid; how many there are."""
    content, count = json.loads((run.path / "manifest.json").read_bytes()), 0

    def change(part: Any) -> None:
        nonlocal count
        for key, value in list(part.items() if isinstance(part, dict) else enumerate(part)):
            if isinstance(value, dict | list):
                change(value)
            elif isinstance(value, str) and key != "measured_by":  # a run of another tool has no charts
                part[key] = f"{value}{MARKUP}"
                try:
                    Manifest.model_validate(content)
                    count += 1
                except ValidationError:
                    part[key] = value

    content |= {"note": "a note", "tags": ["tag"], "annotations": [{"time_s": 1.0, "text": "an event"}]}
    change(content)
    content["run_id"] = run.run_id
    (run.path / "manifest.json").write_text(json.dumps(content))
    return count


def test_charts_of_a_stored_report_open_no_other_report(tmp_path: Path) -> None:
    stored, written = tmp_path / "report.html", {"body": "<header>a</header>", "charts": {"a": {}}}
    page.content_file(stored).write_text(json.dumps({**written, "seal": page._seal(written)}))
    content = page.read_content(stored)
    assert content is not None
    charts = json.loads(content.charts)
    assert (charts["charts"], charts["reports"]) == ({"a": {}}, None)


def test_a_session_is_no_longer_valid_after_the_token_changed_hands(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    held = BrowserSessions(tokens, secure=False)
    cookie = held.sign_in(tokens.add("me", Role.READ))
    assert cookie is not None
    tokens.remove("me")
    tokens.add("me", Role.SETTINGS)
    assert held.of({"headers": [(b"cookie", cookie.partition(";")[0].encode())]}) is None
