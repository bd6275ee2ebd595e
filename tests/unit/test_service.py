"""The service's API: what it accepts, what it answers to what is wrong, and who may do what."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
import uuid
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from hdbkit.api import Workspace
from hdbkit.cluster.connection import Connection
from hdbkit.config import Load, SweepSpec, TprocCLoad, served
from hdbkit.config.cluster import Cluster
from hdbkit.errors import ConfigErrors, HdbkitError, InputError
from hdbkit.processes import birth_of
from hdbkit.results.folder import only_one
from hdbkit.results.manifest import Status
from hdbkit.service import jobs as jobs_module
from hdbkit.service.app import make_service_app
from hdbkit.service.job_folder import JOBS, State
from hdbkit.service.jobs import JobStore
from hdbkit.service.metrics import METRIC_NAMES
from hdbkit.service.permissions import Bucket
from hdbkit.service.tokens import Holder, Role
from hdbkit.service.verbs import VERBS
from hdbkit.web import endpoint, guard
from hdbkit.web.gate import RequestGate
from hdbkit.web.guard import AuditLog, Guard
from tests.architecture.source_tree import ROOT
from tests.unit.services import Service, running_service, written_job
from tests.unit.synthetic import with_result, write_run, write_sweep

WRONG = [
    ("run", "{", "the body: must be JSON: expecting property name"),
    ("run", "[]", "the whole: must be keys and values, not []"),
    ("run", "{}", "target: is required"),
    ("run", '{"target": "lab", "lable": "x"}', "lable: unknown key. Did you mean 'label'?"),
    (
        "run",
        '{"target": "labb"}',
        "target: there is no target 'labb' in targets.yaml (known: lab, other, broken). Did you",
    ),
    ("run", '{"target": "broken"}', "target: there is no kind of database 'oracel'"),
    ("run", '{"target": "lab", "tpcc": {"count_ware": 1}}', "tpcc: unknown key."),
    ("run", '"lab"', "the whole: must be keys and values, not 'lab'"),
    ("run", '{"target": "lab",}', "the body: must be JSON:"),
    ("profile", '{"names": "n"}', "name: is required; names: unknown key. Did you mean 'name'?"),
    ("compare", '{"base": "a", "new": "b", "third": "c"}', "third: unknown key."),
    ("run", '{"target": "postgresql://bench@db1/lab"}', "target: must match ^[A-Za-z0-9]"),
    ("run", '{"target": 5}', "target: must be text, not 5"),
    ("run", '{"target": "lab", "load": {"virtual_users": 0}}', "load.virtual_users: must be 1 or more, not 0"),
    ("run", '{"target": "lab", "load": {"virtual_users": "many"}}', "load.virtual_users: must be a whole number"),
    ("run", '{"target": "lab", "load": {"dictionary": {}}}', "load.dictionary: unknown key."),
    ("run", '{"target": "lab", "load": {"pg_duration": 2}}', "load.pg_duration: unknown key."),
    ("run", '{"target": "lab", "load": {"mysqls_virtual_users": 2}}', "load.mysqls_virtual_users: unknown key."),
    ("run", '{"target": "lab", "workload": {"kind": "tproc_x"}}', "workload: there is no workload 'tproc_x' (known:"),
    ("run", '{"target": "lab", "workload": {"folder": "/etc"}}', "must be the name of a folder in 'workloads' of"),
    ("run", '{"target": "lab", "workload": {"folder": ["/etc"]}}', "the workspace (mine), not ['/etc']"),
    ("run", '{"target": "lab", "workload": {"kind": "custom", "definition": {}}}', "'definition' is read from the"),
    ("sweep", '{"target": "lab", "sweep": {"workload": {"folder": "../x"}}}', "must be the name of a folder in"),
    ("sweep", '{"target": "lab"}', "sweep: is required"),
    ("profile", '{"target": "lab", "name": "n", "virtual_users": []}', "virtual_users"),
    ("report", '{"id": "/etc/passwd"}', "id: must match"),
    ("measure-in-turn", '{"base": "lab", "new": "nowhere"}', "new: there is no target 'nowhere'"),
]


def test_an_invalid_request_names_the_key_the_value_and_what_was_expected(service: Service) -> None:
    for verb, body, reason in WRONG:
        answer = service.clients["settings"].post(f"/api/jobs/{verb}", body)
        assert (answer.status_code, reason in answer.json()["error"]) == (422, True), answer.text
        assert answer.json()["problems"]
    assert not list((service.folder / "results" / JOBS).iterdir())


def test_unknown_verbs_jobs_and_kinds_of_content_are_answered_by_a_sentence(service: Service) -> None:
    client = service.clients["settings"]
    unknown = service.post("runn", {})
    assert (unknown.status_code, "Did you mean 'run'?" in unknown.json()["error"]) == (404, True)
    assert client.get("/api/jobs/20261124").json()["error"] == "there is no job '20261124'"
    form = client.post("/api/jobs/run", "target=lab", "application/x-www-form-urlencoded")
    assert form.json()["error"] == "the body: must be JSON, with the header Content-Type: application/json"


def test_a_request_names_no_cluster_that_the_operator_has_not_named_and_nothing_connects(service: Service) -> None:
    load = {"virtual_users": 1, "rampup_s": 0, "duration_s": 1}
    with socket.create_server(("127.0.0.1", 0)) as attacker:  # another user of the host, as a dask scheduler
        text = f"tls://127.0.0.1:{attacker.getsockname()[1]}"
        at_load = {"target": "lab", "load": {**load, "cluster": text}}
        of_file = {"target": "lab", "load": {**load, "cluster": "ssh:/etc/passwd"}}
        grid = {"factors": {"cluster": ["none", text]}, "blocks": 2}
        for verb, body, key in (
            ("run", at_load, "load.cluster"),
            ("run", of_file, "load.cluster"),
            ("find-max", {**at_load, "limit": "p95=20ms"}, "load.cluster"),
            ("profile", {**at_load, "name": "nightly"}, "load.cluster"),
            ("measure-in-turn", {"base": "lab", "new": "other", "load": at_load["load"]}, "load.cluster"),
            ("build", {"target": "lab", "cluster": text}, "cluster"),
            ("sweep", {"target": "lab", "sweep": {**grid, "load": load}}, "sweep.factors.cluster"),
            ("plan", {"target": "lab", "sweep": {**grid, "load": load}}, "sweep.factors.cluster"),
        ):
            answer = service.post(verb, body)
            assert (answer.status_code, answer.json()["problems"][0]["where"]) == (422, key), answer.text
            assert "is not a cluster of this service (its operator named: none)" in answer.json()["error"]
        attacker.settimeout(0.2)
        with pytest.raises(TimeoutError):
            attacker.accept()
    assert not list((service.folder / "results" / JOBS).iterdir())


def test_what_works_for_a_service_uses_its_clusters_and_no_files_of_typed_urls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in served.served_environment(["local:1"]).items():
        monkeypatch.setenv(name, value)
    Connection(Cluster.parse("local:1"))
    with pytest.raises(HdbkitError, match="not a cluster of this service"):
        Connection(Cluster.parse("local:2"))
    for url in ("odbc://?driver=/tmp/x.so", "postgresql://u@db1/x?sslkey=k", "postgresql://u@db1/x?service=lab"):
        with pytest.raises(InputError, match="names a file"):
            Workspace(results=tmp_path).target(url)


@pytest.mark.parametrize(
    ("role", "verb", "body", "needed"),
    [
        ("read", "run", {"target": "lab"}, "run"),
        ("run", "drop", {"target": "lab"}, "settings"),
        ("run", "run", {"target": "lab", "load": {"fault": "kill server at 3 s"}}, "settings"),
        ("run", "run", {"target": "lab", "load": {"cache": "restart"}}, "settings"),
    ],
)
def test_a_role_permits_what_it_includes_and_nothing_else(
    service: Service, role: str, verb: str, body: dict[str, Any], needed: str
) -> None:
    answer = service.post(verb, body, role)
    assert answer.status_code == 403
    assert answer.json()["error"] == f"this needs a token with the role '{needed}'; '{role}' has '{role}'"
    assert service.clients[role].get("/api/jobs").json() == {"jobs": [], "total": 0}


def test_a_token_ends_when_it_is_removed_or_expires_and_is_kept_as_a_hash(service: Service) -> None:
    client = service.clients["read"]
    assert client.get("/api/targets").status_code == 200
    service.tokens.remove("read")
    assert client.get("/api/targets").status_code == 401
    short = service.tokens.add("short", Role.READ, days=1e-9)
    assert service.tokens.holder(short) is None
    with pytest.raises(InputError, match="there is a token 'run' already"):
        service.tokens.add("run", Role.READ)
    kept = "".join(path.read_text() for path in service.folder.glob("*.json"))
    assert not [secret for secret in (*service.secrets, short) if secret in kept]
    assert (service.folder / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_without_a_token_only_the_health_is_answered_and_wrong_tokens_must_wait(service: Service) -> None:
    client = service.clients["none"]
    assert client.get("/health").json() == {"service": "hdbkit"}
    found = [client.get(path).status_code for path in ("/api/jobs", "/api/openapi.json", "/api/x", "/a", "/b", "/c")]
    assert found == [401] * 5 + [429]


def test_a_job_performs_its_verb_in_a_process_and_keeps_the_document(service: Service) -> None:
    started = service.post("engines", {}, "read")
    assert started.status_code == 202
    job_id = started.json()["job_id"]
    client = service.clients["read"]
    events = client.get(f"/api/jobs/{job_id}/live").text.split("\n\n")  # until the job has ended
    assert events[-2].startswith("event: end\n")
    assert client.get(f"/api/jobs/{job_id}").json()["state"] == "done"
    listed = client.get(f"/api/jobs/{job_id}/result").json()["engines"]
    assert "nulldb" in json.dumps(listed)
    log = (service.folder / "audit.ndjson").read_text()
    assert not [secret for secret in service.secrets if secret in log]
    (line,) = [one for one in service.audit() if one["method"] == "POST"]
    assert (line["job"], line["holder_name"], line["status"]) == (job_id, "read", 202)


def test_a_failed_job_gives_the_reason(service: Service) -> None:
    job_id = service.post("report", {"id": "20200101"}, "read").json()["job_id"]
    client = service.clients["read"]
    client.get(f"/api/jobs/{job_id}/live")
    job, result = client.get(f"/api/jobs/{job_id}").json(), client.get(f"/api/jobs/{job_id}/result")
    assert (job["state"], result.status_code) == ("failed", 409)
    assert "20200101" in job["error"]
    assert result.json()["error"] == f"job {job_id} has no result: it failed: {job['error']}"


def test_the_listed_targets_follow_their_file(service: Service) -> None:
    client, file = service.clients["read"], service.folder / "targets.yaml"
    names = [one["name"] for one in client.get("/api/targets").json()["targets"]]
    file.write_text("later: {kind: nulldb}\n")
    assert (names[0], [one["name"] for one in client.get("/api/targets").json()["targets"]]) == ("lab", ["later"])
    file.unlink()
    assert client.get("/api/targets").json() == {"targets": []}


def test_jobs_of_an_earlier_service_are_listed_and_searched_without_their_files(place: Workspace) -> None:
    folders = [written_job(place, number) for number in range(30)]
    jobs = JobStore(place)
    for folder in folders:
        (folder.path / "job.json").unlink()
    assert [job.request["label"] for job in jobs.listed()] == [f"label-{n}" for n in reversed(range(30))]
    assert [job.request["label"] for job in jobs.listed("lab LABEL-17")] == ["label-17"]
    assert not jobs.listed(state=State.FAILED)
    assert not jobs.listed(verb="build")


def test_a_job_whose_process_vanished_was_killed(place: Workspace) -> None:
    folder = written_job(place, 1)
    (folder.path / "outcome.json").unlink()
    assert JobStore(place).find(folder.path.name).state is State.KILLED


def test_one_service_at_a_time_has_a_results_folder(place: Workspace) -> None:
    with JobStore.alone(place), pytest.raises(InputError, match="another service uses"), JobStore.alone(place):
        pass


def test_what_a_client_knows_is_not_sent_again_until_it_changes(service: Service) -> None:
    client, job = service.clients["read"], service.post("engines", {}, "read").json()["job_id"]
    client.get(f"/api/jobs/{job}/live")  # until it has ended
    for path in (f"/api/jobs/{job}", "/api/jobs", "/api/jobs?limit=1", "/api/targets"):
        first = client.get(path)
        again = client.send("GET", path, headers={"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code, again.text) == (200, 304, ""), path
        assert service.clients["none"].send("GET", path, headers={"if-none-match": "*"}).status_code in {401, 429}
    known = {"if-none-match": client.get("/api/jobs").headers["etag"]}
    started = service.post("engines", {}, "read").json()["job_id"]
    assert started in client.send("GET", "/api/jobs", headers=known).text


def test_a_page_that_is_open_when_the_service_ends_leaves_no_traceback(
    place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(endpoint, "_GRACE_S", 0)
    folder, own = written_job(place, 1), os.getpid()
    folder.note(folder.asked.model_copy(update={"pid": own, "birth": birth_of(own)}))
    (folder.path / "outcome.json").unlink()
    with running_service(place, tmp_path) as service:
        client = service.clients["read"]
        live = HTTPConnection("127.0.0.1", client.port, timeout=60)
        live.request("GET", f"/api/jobs/{folder.path.name}/live", headers={"authorization": f"Bearer {client.token}"})
        assert live.getresponse().readline().startswith(b"event: tick")
    live.close()
    assert "Traceback" not in capsys.readouterr().err


def test_a_live_view_ends_when_its_token_is_removed(place: Workspace, tmp_path: Path) -> None:
    folder, own = written_job(place, 1), os.getpid()
    folder.note(folder.asked.model_copy(update={"pid": own, "birth": birth_of(own)}))
    (folder.path / "outcome.json").unlink()
    with running_service(place, tmp_path) as service:
        client = service.clients["read"]
        with closing(HTTPConnection("127.0.0.1", client.port, timeout=20)) as live:
            path, token = f"/api/jobs/{folder.path.name}/live", {"authorization": f"Bearer {client.token}"}
            live.request("GET", path, headers=token)
            answer = live.getresponse()
            assert answer.readline().startswith(b"event: tick")
            service.tokens.remove("read")
            began = time.monotonic()
            while answer.readline() and time.monotonic() < began + 15:
                pass
            assert time.monotonic() < began + 15, "it goes on"
        folder.end(State.STOPPED)


def test_jobs_that_only_read_keep_nobody_from_a_run(place: Workspace, tmp_path: Path) -> None:
    own = os.getpid()
    for number in range(jobs_module.MAX_RUNNING):
        folder = written_job(place, number)
        folder.note(folder.asked.model_copy(update={"pid": own, "birth": birth_of(own), "verb": "plan"}))
        (folder.path / "outcome.json").unlink()
    with running_service(place, tmp_path) as service:
        answer = service.post("engines", {}, "read")
        assert (answer.status_code, "4 jobs that only read results" in answer.text) == (409, True)
        started = service.post("doctor", {"target": "lab"}, "run")
        assert started.status_code == 202
        service.clients["read"].get(f"/api/jobs/{started.json()['job_id']}/live")  # until it has ended


def test_a_token_that_asks_too_often_waits(service: Service) -> None:
    found = [service.post("run", {"target": "nowhere"}, "run") for _ in range(80)]
    assert {one.status_code for one in found} == {422, 429}
    waits = [one.headers["retry-after"] for one in found if one.status_code == 429]
    assert min(map(int, waits)) >= 1
    assert service.clients["run"].get("/api/jobs").status_code == 200


def test_a_request_whose_content_does_not_arrive_is_ended(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.1)
    client = service.clients["run"]
    head = "POST /api/jobs/run HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n"
    head += f"authorization: Bearer {client.token}\r\n\r\n{{"
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as opened:
        opened.sendall(head.encode())
        assert opened.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("role", Role)
def test_no_request_makes_the_service_fail(place: Workspace, monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    """Valid requests start no process here: those that the role permits are answered by 409, others by 403."""
    import schemathesis  # takes a second
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error

    monkeypatch.setattr(jobs_module, "MAX_RUNNING", 0)
    monkeypatch.setattr(jobs_module, "MAX_READING", 0)
    monkeypatch.setattr(Bucket, "wait_s", lambda *_: 0.0)
    holder = Holder(name="tests", role=role, expires="2100-01-01T00:00:00Z", hash="")  # type: ignore[arg-type]
    audit, gate = (
        AuditLog(place.targets.with_name("audit.ndjson")),
        RequestGate(socket.create_server(("127.0.0.1", 0))),
    )
    app = Guard(make_service_app(JobStore(place), place), lambda _: holder, audit, gate, advice="")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == len(VERBS) + 12
    ways = [(one, GenerationMode.POSITIVE) for one in operations]
    ways += [(one, GenerationMode.NEGATIVE) for one in operations if one.body and role is Role.SETTINGS]
    for operation, mode in ways:
        verb = VERBS.get(operation.path.rpartition("/")[2])
        wanted = verb.role if verb else Role.RUN if operation.path.endswith("/stop") else Role.READ
        if role is not Role.SETTINGS and role.permits(wanted):
            continue  # a lesser role only refuses more
        answered = []

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=3 if role is Role.SETTINGS else 1,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def hold(case: Any, answered: list[Any]) -> None:
            answered.append(case.call_and_validate(checks=[not_a_server_error]))

        hold(answered=answered)
        refused = [one.json()["error"] for one in answered if one.status_code == 403]
        assert all(one.startswith("this needs a token with the role '") for one in refused)
        assert role.permits(wanted) or len(refused) == sum(one.status_code != 422 for one in answered)
    gate.close()
    audit.close()
    assert not list((place.results / JOBS).iterdir())


def test_one_chart_of_a_run_is_json_or_an_image(service: Service) -> None:
    made = with_result(write_run(service.folder / "results" / "20260101-000000-nulldb-c-w1-u1-abcdef"))
    place, reader = f"/api/runs/{made.folder.run_id}/charts", service.clients["read"]
    found = reader.get(f"{place}/throughput")
    assert (found.status_code, found.json()["key"]) == (200, "throughput")
    assert found.json()["csv"].startswith("second,")
    image = reader.get(f"{place}/throughput?svg=true")
    assert (image.status_code, "<svg" in image.text) == (200, True)
    assert "has no chart 'thruput' (it has: throughput, " in reader.get(f"{place}/thruput").json()["error"]
    assert reader.get("/api/runs/other/charts/throughput").json()["error"] == "there is no run 'other'"
    assert service.clients["none"].get(f"{place}/throughput").status_code == 401


def test_metrics_have_the_running_runs_and_the_dashboard_shows_no_others(service: Service) -> None:
    load = TprocCLoad(virtual_users=2, rampup_s=0, duration_s=30)
    place = Workspace(results=service.folder / "results")
    target = f"nulldb:///m{uuid.uuid4().hex[:12]}"
    place.connect(target).build(warehouses=1)
    running = place.start(target, load=load)
    reader = service.clients["read"]
    try:
        while running.status is not Status.MEASURING:
            time.sleep(0.1)
        found = [reader.get("/api/metrics") for _ in range(2)][1]
    finally:
        running.stop()
    running.wait()
    place.connect(target).drop()
    assert found.headers["content-type"].startswith("application/openmetrics-text")
    done = re.search(rf'hdbkit_operations_total{{.*run="{running.run_id}".*}} ([0-9.e+]+)', found.text)
    assert done and float(done[1]) > 0
    assert f'run="{running.run_id}"' not in reader.get("/api/metrics").text
    assert service.clients["none"].get("/api/metrics").status_code == 401
    shown = (ROOT / "docs/static/grafana.json").read_text(encoding="utf-8")
    assert set(re.findall(r"hdbkit_[a-z_]+", shown)) == set(METRIC_NAMES)


def test_experiments_are_listed_shown_stopped_and_resumed_by_those_who_may(service: Service) -> None:
    load = Load(rampup_s=0, duration_s=1)
    spec = SweepSpec(settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2, load=load)
    made = write_sweep(service.folder / "results", spec)
    place, reader, runner = f"/api/experiments/{made.experiment_id}", service.clients["read"], service.clients["run"]
    (one,) = reader.get("/api/experiments").json()["experiments"]
    assert (one["experiment_id"], one["kind"], one["status"], one["done"]) == (
        made.experiment_id,
        "sweep",
        "killed",
        4,
    )
    assert one["cells"] == [{"speed": "1"}, {"speed": "2"}]
    assert reader.get(place).json() == one
    assert reader.get("/api/experiments?offset=1").json() == {"experiments": [], "total": 1}
    assert reader.get("/api/experiments/other").json()["error"] == "there is no experiment 'other'"
    assert reader.post(f"{place}/stop", "").status_code == 403
    assert runner.post(f"{place}/stop", "").json() == one, "it has ended"
    asked = {"id": made.experiment_id, "targets": ["lab"]}
    refused = runner.post("/api/jobs/resume", json.dumps(asked))
    assert "this needs a token with the role 'settings'" in refused.json()["error"], "a sweep changes settings"
    for changes, key, reason in (
        ({"id": "other"}, "id", "there is no experiment 'other'"),
        ({"targets": []}, "id", "name the targets of the experiment"),
        ({"targets": ["nowhere"]}, "targets", "there is no target 'nowhere'"),
    ):
        answer = service.post("resume", asked | changes)
        assert (answer.status_code, answer.json()["problems"][0]["where"]) == (422, key), answer.text
        assert reason in answer.json()["error"]
    for path in (made.path, *(service.folder / "results").glob("2026*-nulldb-*")):
        shutil.rmtree(path)


def test_every_example_of_the_document_is_a_valid_request(service: Service, place: Workspace) -> None:
    document = service.clients["read"].get("/api/openapi.json").json()
    for name, verb in VERBS.items():
        body = document["paths"][f"/api/jobs/{name}"]["post"]["requestBody"]["content"]["application/json"]
        (example,) = body["examples"].values()
        verb.request.of(example["value"], place)


def test_a_sweep_of_nothing_is_invalid_by_the_document_and_by_the_service(service: Service) -> None:
    document = service.clients["read"].get("/api/openapi.json").json()
    schema = {"$ref": "#/components/schemas/SweepRequest", "components": document["components"]}
    valid = Draft202012Validator(schema).is_valid
    for sweep in ({}, {"settings": {}}, {"settings": {}, "factors": {}}):
        assert not valid({"target": "lab", "sweep": sweep})
        assert service.post("plan", {"target": "lab", "sweep": sweep}).status_code == 422
    assert valid({"target": "lab", "sweep": {"factors": {"isolation": ["serializable"]}}})


_PGBENCH = """pgbench (17.2)
transaction type: <builtin: TPC-B (sort of)>
number of clients: 4
duration: 10 s
number of transactions actually processed: 1000
tps = 100.0 (without initial connection time)
"""


def test_files_have_names_in_requests_and_content_comes_with_them(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    context = SimpleNamespace(say=lambda _: None)

    def done(verb: str, request: dict[str, Any]) -> Any:
        return VERBS[verb].perform(VERBS[verb].request.of(request, place), context)

    assert len(done("import", {"name": "pgbench.log", "content": _PGBENCH})["runs"]) == 1
    files = done("import", {"name": "a.tcl", "content": "dbset db pg\nvuset vu 8\n"})["files"]
    assert yaml.safe_load(files["targets.yaml"]) == {"hammerdb": {"kind": "postgresql"}}
    assert done("site", {"name": "public"})["index"] == str(place.results / "sites" / "public" / "index.html")
    with pytest.raises(InputError, match=r"results/data/none is no folder of hdbkit datagen"):
        done("build", {"target": "lab", "from_files": "none"})
    monkeypatch.setattr("hdbkit.results.folder.END_GRACE_S", 0.1)
    with (
        only_one(place.results, "sites/public", ""),
        pytest.raises(InputError, match="another job writes sites/public"),
    ):
        done("site", {"name": "public"})
    with pytest.raises(InputError, match="checkouts/none; give a git checkout"):
        done("releases", {"checkout": "none", "refs": ["a"]})
    for verb, request in (
        ("site", {"name": "../public"}),
        ("site", {"name": "public", "runs": ["own.ipynb"]}),
        ("datagen", {"name": "/data"}),
        ("build", {"target": "lab", "from_files": "../small"}),
        ("import", {"name": "a/b.tcl", "content": ""}),
        ("import", {"name": "hammer.DB", "content": "SQLite format 3\0"}),
        ("releases", {"checkout": "..", "refs": ["a"]}),
        ("releases", {"checkout": "source", "refs": ["--output=x"]}),
    ):
        with pytest.raises(ConfigErrors):
            VERBS[verb].request.of(request, place)
