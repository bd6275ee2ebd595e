"""Servers that are built from a git checkout: each commit once, in hdbkit's cache folder.

A build is made in a clone of the checkout, which itself is never changed, and installed in a folder of its own. It
counts as complete when its note is there, which is written last: what a killed build leaves is built anew. Its lock
is held by all its commands, so another build of the same commit waits even for those whose starter was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from hdbkit.control_groups import limits
from hdbkit.errors import InputError, ServerFailed
from hdbkit.files import held, replace_file
from hdbkit.paths import cache_folder
from hdbkit.servers import place
from hdbkit.servers.launcher import Launcher
from hdbkit.servers.log import NO_MESSAGE, last_lines

_NOTE: Final = "hdbkit.json"
_PROGRAMS: Final = "bin"
_LONGEST: Final = 300
_SHOWN: Final = 12
"""So many digits of a commit are shown, and name its build."""


def commit_of(checkout: Path, ref: str) -> str:
    """The commit that a name stands for in a git checkout. Raises ``InputError`` if there is none."""
    _require_checkout(checkout)
    found = _git(checkout, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode:
        raise InputError(f"there is no commit '{ref}' in {checkout}; give a tag, a branch or the digits of a commit")
    return found.stdout.strip()


def commits_between(checkout: Path, first: str, last: str) -> list[str]:
    """The commits after ``first`` up to ``last``, oldest first; of merges the side that they were merged into.

    Raises:
        InputError: ``last`` does not follow ``first``.
    """
    if _git(checkout, "merge-base", "--is-ancestor", first, last).returncode or first == last:
        raise InputError(f"commit {short(last)} does not follow {short(first)} in {checkout}")
    found = _git(checkout, "rev-list", "--first-parent", "--reverse", f"{first}..{last}")
    return found.stdout.split()


def subject_of(checkout: Path, commit: str) -> str:
    """The first line of a commit's message."""
    return _git(checkout, "show", "--no-patch", "--format=%s", "--end-of-options", commit).stdout.strip()


def described_build(checkout: Path, commit: str) -> str:
    """A commit by the tag that it has or comes after (``v17.2``, ``v17.2-31-gabcdef12``), else its digits."""
    words = ("describe", "--tags", "--always", f"--abbrev={_SHOWN}", "--end-of-options")
    return _git(checkout, *words, commit).stdout.strip()


def short(commit: str) -> str:
    """The first digits of a commit."""
    return commit[:_SHOWN]


def built(launcher: Launcher, checkout: Path, commit: str, options: Sequence[str] = ()) -> Path:
    """The folder with the programs of a commit's server, which is built now if it was not built before.

    Args:
        launcher: starts this kind of server, and knows the commands that build it.
        checkout: the git checkout.
        commit: all digits of a commit.
        options: further arguments of the command that configures the build.

    Raises:
        InputError: hdbkit cannot build this kind of server.
        ServerFailed: a command failed; the text names the log.
    """
    key = hashlib.sha256(json.dumps([str(checkout), *options]).encode()).hexdigest()[:8]
    folder = builds_folder() / f"{launcher.kind}-{short(commit)}-{key}"
    if not launcher.build_commands(folder, options, 1):
        raise InputError(f"hdbkit cannot build a server of kind '{launcher.kind}' from its source")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with held(folder.with_suffix(".lock"), create=True) as lock:  # no other process builds into this folder meanwhile
        if not (folder / _NOTE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            folder.chmod(0o755)
            _build(launcher, checkout, commit, folder, options, lock)
            note = {"checkout": str(checkout), "commit": commit, "options": list(options)}
            replace_file(folder / _NOTE, json.dumps(note, indent=1).encode())
    return folder / _PROGRAMS


def builds_folder() -> Path:
    """Where builds are kept: with root's copies of programs, which the servers' account can read, or in the cache."""
    return (place.COPIES if os.geteuid() == 0 else cache_folder()) / "builds"


def _build(launcher: Launcher, checkout: Path, commit: str, folder: Path, options: Sequence[str], lock: int) -> None:
    log, source = folder.with_suffix(".log"), folder / "source"
    steps = [["git", "clone", "-q", "--shared", "--no-checkout", str(checkout), str(source)]]
    steps.append(["git", "-C", str(source), "checkout", "-q", "--detach", commit])
    if not _git(checkout, "cat-file", "-e", f"{commit}:.gitmodules").returncode:
        steps.append(["git", "-C", str(source), "submodule", "update", "-q", "--init", "--recursive"])
    with log.open("wb") as output:
        for words in steps:
            _run(words, folder, output, lock)
        for words in launcher.build_commands(folder, options, limits().cores):
            _run(words, source, output, lock)
    shutil.rmtree(source)


def _run(words: Sequence[str], folder: Path, output: BinaryIO, lock: int) -> None:
    """Run a command of a build; what it has started is ended with it by Ctrl-C."""
    command, log = shlex.join(words), output.name
    output.write(f"$ {command}\n".encode())
    output.flush()
    try:
        running = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, pass_fds=(lock,), umask=0o022,
        )  # fmt: skip
    except OSError as error:
        raise ServerFailed(f"'{command}' cannot be run: {error.strerror}; its log: {log}") from error
    try:
        code = running.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        raise
    if code:
        raise ServerFailed(f"'{command}' failed: {_reason(Path(log))}; its log: {log}")


def _reason(log: Path) -> str:
    """The first line of the last command that names an error, or the last line."""
    said = log.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")[2].splitlines()[1:]
    lines = [line.strip() for line in said if line.strip()]
    errors = (line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE))
    return next(errors, lines[-1] if lines else NO_MESSAGE)[:_LONGEST]


def _require_checkout(checkout: Path) -> None:
    if shutil.which("git") is None:
        raise InputError("git is not installed, which reads the commits of a checkout")
    if not checkout.is_dir():
        raise InputError(f"there is no folder {checkout}; give a git checkout")
    found = _git(checkout, "rev-parse", "--git-dir")
    if found.returncode:
        raise InputError(f"{checkout} is not a git checkout that can be read: {last_lines(found.stderr)}")


def _git(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(checkout), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
