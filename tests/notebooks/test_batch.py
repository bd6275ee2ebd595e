"""A notebook over parameter files: checked first, executed once for each, kept, and not repeated."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.results.batch_folder import batch_folder, usual_id
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand
from tests.notebooks.conftest import outputs_of, write_notebook, write_params

RUNNER = [sys.executable, "-W", "error", str(ROOT / "runners" / "batch.py")]


def status_of(done: api.BatchResult) -> dict[str, str]:
    return dict(zip(done.jobs["job"], done.jobs["status"], strict=True))


@pytest.mark.long
def test_a_failed_one_is_no_end_and_is_done_again(
    tiny: Path, tmp_path: Path, command: HdbkitCommand, results: Path
) -> None:
    """Each executed notebook is kept with its values; a finished one is skipped until they change."""
    files = write_params(tmp_path, first={"fail": True}, second={"n": 22})
    said = command("batch", tiny, *files, "--json")
    assert said.code == 3
    first, second = said.json["jobs"]
    assert (first["status"], first["error"], second["status"]) == ("failed", "ValueError: asked to", "done")
    assert "asked to" in outputs_of(Path(first["notebook"]))
    assert outputs_of(Path(second["notebook"])).count("22") == 1
    assert Path(second["notebook"]).is_relative_to(results / "batches")
    assert json.loads(tiny.read_text())["cells"][1]["outputs"] == []

    write_params(tmp_path, first={"fail": False, "n": 11})
    said = command("batch", tiny, *files)
    assert said.code == 0
    assert "already done" in said.err
    assert "1 of 2 jobs were already done" in said.out

    write_params(tmp_path, second={"n": 33})
    again = api.batch(tiny, files)
    assert again.jobs["skipped"].tolist() == [True, False]
    assert [
        outputs_of(path).count(text) for path, text in zip(again.jobs["notebook"], ("11", "33"), strict=True)
    ] == [1, 1]
    assert len(list((results / "batches").iterdir())) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [({"m": 1}, "no such parameter"), ({"n": "two"}, "must be a whole number"), ({"password": "hunter2"}, "secret")],
)
def test_one_bad_file_and_nothing_is_executed(
    tiny: Path, tmp_path: Path, command: HdbkitCommand, results: Path, values: dict[str, Any], said: str
) -> None:
    answer = command("batch", tiny, *write_params(tmp_path, good={"n": 1}, bad=values))
    assert answer.code == 2
    assert said in answer.err
    assert "nothing was started" in answer.err
    assert "hunter2" not in answer.err
    assert not list(results.iterdir())


@pytest.mark.parametrize("name", ["My first run", "ümläut", "_", "n" * 200])
def test_a_notebook_of_any_name_has_an_id(name: str, results: Path) -> None:
    batch_id = usual_id(Path(f"{name}.ipynb"), [])
    assert batch_folder(results, batch_id).batch_id == batch_id


def test_errors_of_all_files_are_reported_at_once(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = write_params(tmp_path, one={"m": 1}, two={"n": "x"}, three={"n": 1})
    with pytest.raises(ConfigErrors) as found:
        api.batch(tiny, [*files, *write_params(tmp_path / "other", three={"n": 2})])
    assert [one.where.partition(": ")[0] for one in found.value.problems] == [
        str(files[0]),
        str(files[1]),
        str(tmp_path / "other" / "three.yaml"),
    ]


def test_wrong_calls_are_refused(tiny: Path, tmp_path: Path, results: Path) -> None:
    files = write_params(tmp_path, one={"n": 1})
    with pytest.raises(InputError, match="at least one parameter file"):
        api.batch(tiny, [])
    with pytest.raises(InputError, match="there is no notebook"):
        api.batch(tmp_path / "none.ipynb", files)
    with pytest.raises(InputError, match="the id of a batch"):
        api.batch(tiny, files, batch_id="../elsewhere")
    assert not list(results.iterdir())


def test_the_same_batch_does_not_run_twice_at_once(tiny: Path, tmp_path: Path, results: Path) -> None:
    folder = results / "batches" / "nightly"
    folder.mkdir(parents=True)
    with (folder / "batch.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="batch nightly is already running"):
            api.batch(tiny, write_params(tmp_path, one={}), batch_id="nightly")


@pytest.mark.long
def test_a_stopped_batch_ends_its_kernel_and_continues_later(tiny: Path, tmp_path: Path, results: Path) -> None:
    write_notebook(tiny, "fail: bool = False", "import time\ntime.sleep(600 if fail else 0)")
    files = write_params(tmp_path, quick={}, slow={"fail": True})
    runner = subprocess.Popen([*RUNNER, str(tiny), *map(str, files)], stderr=subprocess.PIPE, text=True)
    executed = results / "batches"
    while not (list(executed.glob("*/slow.ipynb")) and (kernels := children_of(runner.pid))):
        assert runner.poll() is None
        time.sleep(0.05)
    runner.send_signal(signal.SIGINT)
    _, said = runner.communicate(timeout=180)
    assert runner.returncode == 130
    assert "the same command continues" in said
    deadline = time.monotonic() + 180
    while any(Path(f"/proc/{pid}").exists() for pid in kernels):
        assert time.monotonic() < deadline, "a kernel outlived its batch"
        time.sleep(0.05)
    write_params(tmp_path, slow={})
    again = api.batch(tiny, files)
    assert again.jobs["skipped"].tolist() == [True, False]
    assert status_of(again) == {"quick": "done", "slow": "done"}


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread may end at any time
            found += map(int, (task / "children").read_text().split())
    return found


def test_a_kernel_imports_no_module_of_the_notebooks_folder_when_it_starts(tiny: Path, tmp_path: Path) -> None:
    for name in ("ipykernel_launcher", "uuid", "random"):
        (tiny.parent / f"{name}.py").write_text(f"open({str(tmp_path / name)!r} + '.executed', 'w').close()\n")
    assert status_of(api.batch(tiny, write_params(tmp_path, one={"n": 7}))) == {"one": "done"}
    assert list(tmp_path.glob("*.executed")) == []


def test_the_runner_is_the_command(tiny: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [*RUNNER, str(tiny), *map(str, write_params(tmp_path, bad={"m": 1}))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "tiny.ipynb has no such parameter" in ended.stderr


@pytest.mark.long
def test_plain_papermill_works_too_from_any_folder(tmp_path: Path) -> None:
    notebook, out = ROOT / "notebooks" / "07_published_results.ipynb", tmp_path / "out.ipynb"
    words = [
        sys.executable,
        "-m",
        "papermill",
        str(notebook),
        str(out),
        "-p",
        "tolerance",
        "0.2",
        "--no-progress-bar",
    ]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ})
    assert ended.returncode == 0, ended.stderr
    assert json.loads(out.read_text())["metadata"]["papermill"]["parameters"] == {"tolerance": 0.2}
    assert "60000 / tpm" in outputs_of(out)
