"""Two workspaces in one process: each has its own results, targets and private servers."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hdbkit.api import Workspace
from hdbkit.config import Load, SweepSpec
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.servers import find_binaries
from tests.notebooks.conftest import outputs_of, write_notebook
from tests.run.conftest import NullTarget

LOAD = Load(rampup_s=0, duration_s=0.3)


@pytest.fixture
def pair(tmp_path: Path, null_target: NullTarget) -> tuple[Workspace, Workspace]:
    """Two workspaces, in which the name ``lab`` is another database."""
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        lab = null_target(latency_us=1000).with_(may_change_settings=True)
        entry = {"lab": lab.model_dump(mode="json", exclude_defaults=True)}
        (folder / "targets.yaml").write_text(yaml.safe_dump(entry))
        made.append(Workspace(results=folder / "results", targets=folder / "targets.yaml"))
    one, two = made
    return one, two


def test_a_name_is_looked_up_and_a_run_that_reads_the_schema_once_is_kept_in_its_own_workspace(
    pair: tuple[Workspace, Workspace], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    assert one.target("lab") != two.target("lab")
    engine, opened = database("nulldb"), []
    schema = type(engine).schema
    monkeypatch.setattr(type(engine), "schema", lambda *given: (opened.append(given), schema(*given))[1])
    first, second = (each.run("lab", load=LOAD) for each in pair)
    assert len(opened) == 2
    for each, done in ((one, first), (two, second)):
        assert done.folder.path.parent == each.results
        assert list(each.runs()["run_id"]) == [done.run_id]
        assert each.result().run_id == each.attach().run_id == done.run_id
    with pytest.raises(InputError, match=f"there is no run '{first.run_id}'"):
        two.result(first.run_id)
    assert not any(results.iterdir()), "the workspace of the process is another one"


def test_a_comparison_and_a_profile_are_kept_where_their_runs_are(pair: tuple[Workspace, Workspace]) -> None:
    one, two = pair
    profile = one.profile("nightly", "lab", load=LOAD, virtual_users=[1, 2])
    assert profile.report() == one.results / "profiles" / "nightly.html"
    assert list(one.profiles()["profile"]) == ["nightly"]
    with pytest.raises(InputError, match="there is no profile 'nightly'"):
        two.history("nightly")
    ids = list(profile.runs["run_id"])
    assert one.compare(ids[0], ids[1]).report().parent == one.results / "comparisons"
    assert "users" in one.overlay({"first": ids[0], "second": ids[1]})


def test_a_sweep_in_a_process_of_its_own_continues_in_its_workspace(pair: tuple[Workspace, Workspace]) -> None:
    one, two = pair
    spec = SweepSpec(settings={"speed": ("4",)}, blocks=2, load=LOAD, cooldown_s=0)
    done = one.start_sweep("lab", spec).wait()
    assert list(done.runs["status"]) == ["done"] * 2
    assert one.experiment_result().experiment_id == one.attach_experiment().experiment_id == done.experiment_id
    assert len(one.runs()) == 2
    assert not two.results.exists() or not len(two.runs())


def test_a_private_server_belongs_to_the_workspace_that_started_it(pair: tuple[Workspace, Workspace]) -> None:
    if not find_binaries():
        pytest.skip("no server binaries here; see: hdbkit doctor")
    one, two = pair
    kind = find_binaries()[0].kind
    first, second = (each.private(kind) for each in pair)
    try:
        assert first.server_folder != second.server_folder
        assert one.private_targets() == [one.private(kind)] == [first]
        one.end_private(kind)
        assert (one.private_targets(), two.private_targets()) == ([], [second])
    finally:
        for each in pair:
            each.end_private(kind)


@pytest.mark.long
def test_the_notebooks_of_a_batch_work_in_its_workspace(pair: tuple[Workspace, Workspace], tmp_path: Path) -> None:
    one, _ = pair
    code = "import hdbkit\nhdbkit.connect(target), str(hdbkit.Workspace().results)"
    notebook = write_notebook(tmp_path / "notebook.ipynb", 'target: str = "private"', code)
    (tmp_path / "lab.yaml").write_text("target: lab\n")
    done = one.batch(notebook, [tmp_path / "lab.yaml"])
    assert (done.failed, done.folder.path.parent) == (0, one.results / "batches"), done.jobs["error"].tolist()
    assert str(one.results) in outputs_of(done.folder.executed("lab"))


def test_places_that_are_not_given_are_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Workspace(results=tmp_path / "own")
    for name in ("a", "b"):
        monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / name))
        assert Workspace().results == tmp_path / name
        assert own.results == tmp_path / "own"
