"""No password appears in a file, on the screen, in a process list or in an error."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import hdbkit
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.errors import HdbkitError
from hdbkit.servers import PrivateServer, private_server
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand
from tests.run.conftest import password_of

WORKLOAD = ROOT / "params" / "workloads" / "tpcb-like"
SWEEP = f"""
settings: {{synchronous_commit: [off]}}
blocks: 2
virtual_users: [2]
workload: {{kind: custom, folder: {WORKLOAD}}}
load: {{rampup_s: 0, duration_s: 60, iterations: 50}}
"""
"""Of a workload whose schema is built in a second."""


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server(settings={"fsync": "off"}) as one:
        yield one


class ProcessList(threading.Thread):
    """Command lines and, on the side, how many were seen of the run's own processes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.lines: set[bytes] = set()
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.05):
            for path in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):  # it may end at any time
                    self.lines.add((path / "cmdline").read_bytes())

    def __enter__(self) -> ProcessList:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def holds(secret: bytes, root: Path) -> list[str]:
    """Files below ``root`` with the secret in name or content."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if secret in path.read_bytes() or secret.decode() in path.name]


def test_no_password_is_left_anywhere(
    server: PrivateServer,
    command: HdbkitCommand,
    results: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    place = server.target
    secrets = [password_of(place).encode(), password_of(server.admin).encode()]
    plain = Target(kind=place.kind, host=place.host, port=place.port, database=place.database, user=place.user).url
    entry = place.model_dump(mode="json", exclude_defaults=True)
    (tmp_path / "targets.yaml").write_text(yaml.safe_dump({"lab": entry}))
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    monkeypatch.setenv("HDBKIT_TARGETS", str(tmp_path / "targets.yaml"))
    monkeypatch.setenv("HDBKIT_PASSWORD", secrets[0].decode())
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", secrets[1].decode())
    own = ("--workload", WORKLOAD)
    short = (*own, "-u", 2, "--rampup-s", 0, "--duration-s", 60, "--iterations", 50)
    with ProcessList() as processes:
        said = [
            command("build", plain, *own, "--admin", server.admin.with_(password_file=None).url),
            command("run", plain, *short),
            command("run", plain, *short, "--json"),
            command("sweep", "lab", tmp_path / "sweep.yaml"),
            command("report", "last"),
            command("runs", "show", "--json"),
            command("run", plain, "--warehouses", 5),
            command("run", plain.replace("@", f":{secrets[0].decode()}@")),
        ]
    assert [one for one in said[:-2] if one.code > 1] == []
    assert [one.code for one in said[-2:]] == [2, 2]
    assert any(b"hdbkit.execution.supervisor" in line for line in processes.lines)
    assert list(results.rglob("report.html"))
    for secret in secrets:
        assert holds(secret, results) == []
        assert [one for one in said if secret.decode() in one.out + one.err] == []
        assert [line for line in processes.lines if secret in line] == []
        assert secret.decode() not in caplog.text


def test_no_error_of_a_target_holds_its_password(server: PrivateServer) -> None:
    secret = "Tr0ub4dor-and-3"
    target = Target(**{**server.target.model_dump(), "password_file": None, "password": secret})
    for wrong in (target, target.with_(port=1), target.with_(database="nope"), target.with_(host="nowhere.invalid")):
        with pytest.raises(HdbkitError) as caught:
            hdbkit.run(wrong, TprocCSpec(warehouses=1), Load())
        error: BaseException | None = caught.value
        assert secret.encode() not in pickle.dumps(error)
        while error is not None:
            assert secret not in f"{error}{error!r}{error.args}"
            error = error.__context__
    assert secret not in repr(target) + str(target) + target.url + target.model_dump_json()
