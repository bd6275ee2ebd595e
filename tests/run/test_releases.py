"""Commits of a server: built once from a git checkout, started, and compared by runs in turn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.errors import InputError, ServerFailed
from hdbkit.servers import find_binaries, launcher, source_builds
from hdbkit.servers.source_builds import built
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand
from tests.sources_of_servers import LINKED, Checkout

KIND = "postgresql"
TINY = specification(ROOT / "params" / "workloads" / "key-value", parameters={"rows": 100})
QUICK = Load(virtual_users=1, rampup_s=0, duration_s=0.3)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setattr(source_builds, "builds_folder", lambda: tmp_path / "builds")
    return tmp_path / "builds"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    """A checkout with two commits of an installed server."""
    if shutil.which("git") is None or shutil.which("make") is None:
        pytest.skip("git or make is not installed")
    found = [one for one in find_binaries() if one.kind == KIND]
    if not found:
        pytest.skip(f"there are no programs of {KIND} on this host")
    made = Checkout(tmp_path / "checkout")
    for tag in ("old", "new"):
        made.commit(LINKED.format(programs=found[0].folder), tag)
    yield made


@pytest.mark.long
def test_commits_are_built_measured_in_turn_and_compared(checkout: Checkout, results: Path, cache: Path) -> None:
    said: list[str] = []
    planned = hdbkit.plan_releases(
        checkout.folder, ["old", "new"], database=KIND, blocks=2, workload=TINY, load=QUICK
    )
    found = hdbkit.run_experiment(planned, watch=lambda event: said.append(event.note))
    assert isinstance(found, hdbkit.Releases)
    assert [one.startswith("building ") for one in said[:4]] == [True] * 4, "two commits, and a schema on each"
    assert found.cells["runs"].tolist() == [2, 2]
    (comparison,) = found.pairs
    assert found.comparisons["ratio"].tolist() == [comparison.ratio.ratio]
    assert comparison.ratio.low < comparison.ratio.ratio < comparison.ratio.high, "two blocks have an interval"
    in_order = [
        one.run_id for pair in zip(comparison.base, comparison.new, strict=True) for one in sorted(pair, key=str)
    ]
    assert len({*in_order}) == 4
    assert comparison.names[0].startswith("old (")
    assert len([*cache.glob(f"{KIND}-*/hdbkit.json")]) == 2
    assert not [*cache.glob("*/source")], "the clones are removed"


def test_a_commit_is_built_once_and_again_after_a_killed_build(checkout: Checkout) -> None:
    commit = checkout.git("rev-parse", "new")
    programs = built(launcher(KIND), checkout.folder, commit)
    mark = programs.parent / "mark"
    mark.touch()
    assert built(launcher(KIND), checkout.folder, commit) == programs
    assert mark.exists(), "it was built again"
    (programs.parent / "hdbkit.json").unlink()
    built(launcher(KIND), checkout.folder, commit)
    assert not mark.exists(), "what a killed build left was used"


def test_a_build_that_fails_is_a_sentence_with_the_reason_and_the_log(checkout: Checkout, cache: Path) -> None:
    with pytest.raises(ServerFailed, match="configure: error: there is no luck; its log: ") as failed:
        hdbkit.releases(checkout.folder, ["old", "new"], database=KIND, configure=["--without-luck"])
    log = Path(str(failed.value).rpartition(": ")[2])
    assert "see the manual" in log.read_text()
    assert log.parent == cache


@pytest.mark.parametrize(
    ("refs", "options", "reason"),
    [
        (["old"], {}, "give two or more different commits, not old"),
        (["old", "old"], {}, "give two or more different commits, not old, old"),
        (["old", "--exec=x"], {}, "there is no commit '--exec=x'"),
        (["old", "new", "HEAD~1"], {}, "give two or more different commits"),
        (["old", "new"], {"database": "redis"}, "hdbkit cannot build a server of kind 'redis' from its source"),
        (["old", "new"], {"database": "sqlite"}, "hdbkit cannot start a server of kind 'sqlite'"),
    ],
)
def test_bad_input_is_a_sentence(
    checkout: Checkout, refs: list[str], options: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        hdbkit.releases(checkout.folder, refs, **options)  # type: ignore[arg-type]


def test_a_search_needs_a_commit_that_follows_the_other(checkout: Checkout) -> None:
    with pytest.raises(InputError, match="does not follow"):
        hdbkit.find_slow_commit(hdbkit.plan_releases(checkout.folder, ["new", "old"], database=KIND))


def test_a_folder_without_git_is_a_sentence(tmp_path: Path, command: HdbkitCommand) -> None:
    said = command("releases", str(tmp_path), "a", "b")
    assert (said.code, "is not a git checkout" in said.err) == (2, True)
    said = command("releases", str(tmp_path), "a", "b", "--setting", "work_mem")
    assert "--setting must be NAME=VALUE" in said.err
