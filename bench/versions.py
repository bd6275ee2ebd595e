"""Two versions of hdbkit compared: the same load on servers of their own, in turn, data restored before each run.

``python -m bench.versions COMMIT [KIND...]`` compares the working copy with a commit, by default on PostgreSQL,
MariaDB and MySQL; ``nulldb`` is the loop of one client alone. Each version builds its own schema, on a server that
only it uses; both servers are up all the time. Which server is started first changes with each round. A version
compared with itself shows what a difference by chance is.
"""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path

from bench.common import SETTINGS, blocks, program, quick_or, scratch, show_ratio, title
from hdbkit.config import Target
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.servers import control, private_server

KINDS = ("postgresql", "mariadb", "mysql")
NULL = Target.parse("nulldb:///?latency_us=0")
"""The null engine, which answers at once."""
WAREHOUSES = quick_or(2, 8)
CLIENTS = quick_or(2, 4)
ROUNDS = quick_or(1, 2)
BLOCKS = quick_or(2, 10)
"""In each round."""
LOAD = ("--rampup-s", quick_or(1, 3), "--duration-s", quick_or(3, 10), "--input-rules", "hammerdb")
_FIELDS = {"kind", "host", "port", "user", "database", "password_file", "options"}
FIGURES = {"operations_per_s": True, "client_cpu_us_per_operation": False, "server_cpu_us_per_operation": False}
"""Whether more of them is better."""
OLD, NEW = "old", "new"


@dataclass(frozen=True)
class Version:
    """A checkout of hdbkit."""

    name: str
    code: Path
    results: Path

    def hdbkit(self, target: Target, *words: object) -> str:
        """The output of a command of this version for a target."""
        named = self.results.with_suffix(".yaml")
        fields = target.model_dump(mode="json", include=_FIELDS, exclude_none=True)
        named.write_text(json.dumps({"own": fields}), encoding="utf-8")
        environment = {
            "PYTHONPATH": str(self.code),
            "HDBKIT_RESULTS": str(self.results),
            "HDBKIT_TARGETS": str(named),
        }
        verb, *options = map(str, words)
        command = [sys.executable, "-m", "hdbkit", verb, "own", *options]
        done = subprocess.run(
            command, env={**os.environ, **environment}, cwd=self.code, check=False, capture_output=True, text=True
        )
        if not done.stdout.strip():
            raise RuntimeError(f"{' '.join(command)} in {self.code}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def measured(self, target: Target) -> tuple[float, ...]:
        """The figures of a run on restored data; a failed check of a short run does not matter."""
        clients = 1
        if target.kind != NULL.kind:
            control(target).restore_data()
            clients = CLIENTS
        result = json.loads(self.hdbkit(target, "run", "-u", clients, *LOAD, "--json"))["result"]
        return tuple(float(result[name] or "nan") for name in FIGURES)


def checked_out(commit: str, folder: Path) -> Path:
    """The files of a commit of this repository."""
    root = Path(__file__).parents[1]
    archive = subprocess.run(["git", "-C", root, "archive", commit], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


@contextmanager
def servers(kind: str, versions: tuple[Version, ...]) -> Iterator[dict[str, Target]]:
    """A server for each version in this order, with its own build, whose data are kept."""
    with ExitStack() as opened:
        by_version = {}
        for version in versions:
            target = NULL.with_(database=f"versions-{os.getpid()}-{version.name}")
            if kind != NULL.kind:
                target = opened.enter_context(private_server(kind, settings=SETTINGS[kind])).target
            version.hdbkit(target, "build", "--warehouses", WAREHOUSES, "--json")
            if kind == NULL.kind:
                opened.callback(version.hdbkit, target, "drop", "--yes")
            else:
                control(target).keep_data()
            by_version[version.name] = target
        yield by_version


def compare(kind: str, versions: tuple[Version, Version]) -> None:
    """Print the ratios of the figures."""
    clients = "1 client" if kind == NULL.kind else f"{CLIENTS} clients, stored routines"
    title(f"{kind}: {clients}, {ROUNDS} x {BLOCKS} blocks, load {os.getloadavg()[0]:.1f}")
    done = []
    for number in range(ROUNDS):
        with servers(kind, versions if number % 2 == 0 else versions[::-1]) as own:
            done += blocks({one.name: partial(one.measured, own[one.name]) for one in versions}, BLOCKS)
    for place, (name, more_is_better) in enumerate(FIGURES.items()):
        if math.isnan(done[0][NEW][place]):
            continue
        least, most = (0.99, None) if more_is_better else (None, 1.01)
        what = f"{name} / that of the old version"
        show_ratio(what, done, (NEW, OLD), itemgetter(place), at_least=least, at_most=most)


def main() -> None:
    """Compare on each kind of which there is a server."""
    commit, *kinds = sys.argv[1:] or ("HEAD",)
    described = program(
        ["git", "-C", Path(__file__).parents[1], "log", "-1", "--format=%h %cs %s", commit]
    ).out.strip()
    title(f"versions: the working copy and {described}")
    with scratch() as folder:
        old = Version(OLD, checked_out(commit, folder / OLD), folder / "results-old")
        new = Version(NEW, Path(__file__).parents[1], folder / "results-new")
        for kind in kinds or KINDS:
            try:
                database(kind).driver_version()
                compare(kind, (old, new))
            except InputError as error:
                print(f"{kind}: {error}", flush=True)


if __name__ == "__main__":
    main()
