"""Files for containers and systemd: what they name exists, and the commands in them are commands of hdbkit."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from shutil import which

import pytest
import yaml

from hdbkit.api import Workspace
from hdbkit.cli.main import COMMANDS
from hdbkit.config import Target
from hdbkit.databases import kinds
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand

CONTAINER = ROOT / "runners" / "container"
UNITS = sorted((ROOT / "runners" / "systemd").glob("*.service"))
CONTAINERFILE = (CONTAINER / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((CONTAINER / "compose.yaml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "images.yml").read_text(encoding="utf-8"))
MATRIX = WORKFLOW["jobs"]["image"]["strategy"]["matrix"]["include"]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


def chosen(extras: str) -> set[str]:
    return set(extras.split(","))


def test_the_image_is_made_of_files_and_extras_that_exist() -> None:
    copied = [
        word
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE, re.MULTILINE)
        for word in line.split()
    ]
    assert "hdbkit" in copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", CONTAINERFILE, re.MULTILINE)
    images = [one["extras"] for one in MATRIX if "extras" in one]
    for found in (extras, *images):
        assert chosen(found) <= EXTRAS
    assert {one for found in images for one in chosen(found)} == chosen(extras), "the full image has every driver"


def test_each_engine_with_a_free_driver_has_an_image_of_its_own_with_that_driver_alone() -> None:
    images = {one["name"]: chosen(one["extras"]) for one in MATRIX if "extras" in one}
    drivers = {name: extras - {"tproc-h", "service", "agent"} for name, extras in images.items()}
    assert [name for name, extras in drivers.items() if len(extras) > 1] == []
    in_the_process = {"nulldb", "sqlite", "duckdb", "clickhouse"}
    assert drivers.pop("embedded") == set()
    assert set(drivers) == set(kinds()) - in_the_process - {"timesten"}, "TimesTen's client library is not free"


def test_the_image_runs_without_root() -> None:
    users = re.findall(r"^USER (\S+)$", CONTAINERFILE, re.MULTILINE)
    assert users == ["10001"]
    assert COMPOSE["services"]["hdbkit"]["read_only"] is True


def test_the_services_of_compose_are_there_and_have_targets() -> None:
    services = COMPOSE["services"]
    for name, one in services.items():
        extended = one.get("extends")
        if extended:
            other = yaml.safe_load((CONTAINER / extended["file"]).read_text(encoding="utf-8"))
            assert extended["service"] in other["services"], name
        else:
            assert one.get("image"), name
    targets = yaml.safe_load((CONTAINER / "targets.yaml").read_text(encoding="utf-8"))
    place = Workspace(targets=CONTAINER / "targets.yaml")
    assert set(targets) == set(services) - {"hdbkit"}
    for name in targets:
        found = place.target(name)
        assert isinstance(found, Target)
        assert found.kind in kinds()
        assert found.host in services
        assert found.password is None


def test_its_command_is_one_of_hdbkit(command: HdbkitCommand) -> None:
    assert command(*COMPOSE["services"]["hdbkit"]["command"], "--help").code == 0


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_of_hdbkit(path: Path, command: HdbkitCommand) -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(path)
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program == "/opt/hdbkit/bin/hdbkit"
    assert command(*words, "--help").code == 0
    assert unit["Install"]["WantedBy"]


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for path in UNITS:  # systemd also looks for the program, which is installed nowhere here
        text = path.read_text(encoding="utf-8").replace("/opt/hdbkit/bin/hdbkit", sys.executable)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    units = [str(tmp_path / path.name) for path in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_everything_is_in_one_layout() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*UNITS, ROOT / "runners" / "nightly.cron")]
    programs = {found for text in (*texts, CONTAINERFILE) for found in re.findall(r"/opt/hdbkit[\w./-]*", text)}
    assert programs == {
        "/opt/hdbkit",
        "/opt/hdbkit/bin",
        "/opt/hdbkit/bin/hdbkit",
        "/opt/hdbkit/bin/pip",
        "/opt/hdbkit/health.py",
    }
    for text in texts[:-1]:
        assert re.search(r"^StateDirectory=hdbkit", text, re.MULTILINE)
        assert re.search(r"^User=", text, re.MULTILINE), "no service of root"


def test_the_workflow_of_a_team_has_a_command_of_hdbkit(command: HdbkitCommand) -> None:
    workflow = yaml.safe_load((ROOT / "runners" / "ci-github.yml").read_text(encoding="utf-8"))
    steps = [one["run"] for one in workflow["jobs"]["bench"]["steps"] if "run" in one]
    (compare,) = [shlex.split(one)[1:] for one in steps if one.startswith("hdbkit ")]
    assert command(*compare, "--help").code == 0


def test_a_gate_fails_for_a_branch_whose_schema_is_slower(tmp_path: Path, results: Path) -> None:
    """A repository with a workload of its own: one branch has an index, the other has not."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", "-C", tmp_path, *who, *words], check=True, capture_output=True, text=True
        ).stdout

    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "workload.yaml").write_text(
        "operations: {look: {}}\nvariables: {id: {uniform: {max: 20000}}}\n"
    )
    (tmp_path / "bench" / "look.sql").write_text("-- name: look\nSELECT b FROM t WHERE a = :id;\n")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    rows = f"{numbers} INSERT INTO t SELECT i, i FROM n;"
    git("init", "-q", "-b", "main")
    for branch, index in (("main", "CREATE INDEX ta ON t (a);"), ("slower", "")):
        (tmp_path / "schema.sql").write_text(f"CREATE TABLE t (a INT, b INT);{index}{rows}")
        git("checkout", "-q", "-B", branch)
        git("add", ".")
        git("commit", "-q", "-m", branch)
    for name, branch in (("base", "main"), ("new", "slower")):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as database:
            database.executescript(git("show", f"{branch}:schema.sql"))
    quick = ("-u", "1", "--rampup-s", "0", "--duration-s", "0.3", "--blocks", "3", "--workload", tmp_path / "bench")
    sides = (f"sqlite:///{tmp_path}/base.db", f"sqlite:///{tmp_path}/new.db")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [ROOT / "runners" / "gate.sh", *sides, "pr-1", *quick],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "slower" in done.stdout


def test_the_service_leaves_its_jobs_alone_when_it_is_restarted() -> None:
    text = (ROOT / "runners" / "systemd" / "hdbkit-serve.service").read_text(encoding="utf-8")
    assert "\nKillMode=process\n" in text


def test_the_script_from_nothing_to_a_result_calls_commands_of_hdbkit_in_order() -> None:
    text = (ROOT / "runners" / "once.sh").read_text(encoding="utf-8")
    used = re.findall(r"(?:^|; |')hdbkit ([a-z]+)", text, re.MULTILINE)
    assert used == ["check", "build", "drop", "run"]
    assert set(used) <= COMMANDS.keys()
    named = set(re.findall(r"(\w+)://", text))
    assert named | {"nulldb", "odbc", "duckdb", "clickhouse"} == set(kinds())
