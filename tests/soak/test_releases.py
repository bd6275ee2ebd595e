"""The search for a slow commit of a server. Its source is an imitation: an installation whose defaults change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.servers import find_binaries, source_builds
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT
from tests.sources_of_servers import Checkout

KIND = "postgresql"
COPIED = """
mkdir "$1/{package}"
cp -r "{root}" "$1/{package}"
test ! -d "{root}/../../{package}.libs" || cp -r "{root}/../../{package}.libs" "$1"
ln -s "{package}/{name}/bin" "$1/bin"
printf '%s\\n' {lines} >> "$(find "$1/{package}" -name postgresql.conf.sample)"
"""
"""An installation as in its wheel, whose libraries lie beside the package."""
SLOW = "'enable_indexscan = off' 'enable_bitmapscan = off' 'enable_indexonlyscan = off'"
FIRST_SLOW = 4


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that the servers' account can read, so that nothing is copied for it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_search_finds_the_commit_that_made_the_server_slow(
    tmp_path: Path, readable: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries = [one for one in find_binaries() if one.kind == KIND and (one.folder.parent / "share").is_dir()]
    if not binaries:
        pytest.skip(f"there is no installation of {KIND} in one folder on this host")
    monkeypatch.setattr(source_builds, "builds_folder", lambda: readable / "builds")
    checkout, root = Checkout(tmp_path / "checkout"), binaries[0].folder.parent
    copied = partial(COPIED.format, root=root, name=root.name, package=root.parent.name)
    commits = [
        checkout.commit(copied(lines=SLOW if number >= FIRST_SLOW else "'#'"), f"v{number}") for number in range(1, 7)
    ]
    planned = hdbkit.plan_releases(
        checkout.folder,
        ["v1", "v6"],
        database=KIND,
        blocks=3,
        workload=specification(ROOT / "params" / "workloads" / "key-value", parameters={"rows": 20_000}),
        load=Load(virtual_users=1, rampup_s=0.5, duration_s=2),
    )
    found = hdbkit.find_slow_commit(planned)
    assert found.pairs[0].ratio.verdict == "slower"
    assert found.search
    assert found.search.left == (commits[FIRST_SLOW - 1],)
    assert found.search.sentence == (
        f"most of the slowdown came with commit {commits[FIRST_SLOW - 1][:12]} "
        f"(v{FIRST_SLOW}: Subject of v{FIRST_SLOW}), with 95 % if one commit brought it"
    )
    assert len(found.search.steps) == 2
