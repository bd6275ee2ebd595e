"""Every command and every Python example in the documents of users is executed, on a private server named ``lab``.

Phases, sizes and counts are shortened first; what needs another server, or a name that the reader fills in, is listed
with its reason.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hdbkit.servers import private_server
from tests.architecture.source_tree import ROOT
from tests.architecture.test_documents import GUIDE, typed

SHORTENED = (
    (r"--warehouses \d+", "--warehouses 2"),
    (r"--scale-factor [\d.]+", "--scale-factor 0.01"),
    (r"(-u|--virtual-users) \d+,[\d,]+", r"\1 1,2"),
    (r"(-u|--virtual-users) \d+(?!,)", r"\1 2"),
    (r"--(rampup-s) \d+", r"--\1 0"),
    (r"--(duration-s) \d+", r"--\1 1"),
    (r"--blocks \d+", "--blocks 2"),
    (r"--users-per-process \d+", "--users-per-process 2"),
    (r"--sessions-per-user \d+", "--sessions-per-user 5"),
    (r"--rate \d+", "--rate 50"),
    (r"\d+ s (at|from) ", r"1 s \1 "),
    (r" at (\d+)/s", " at 20/s"),
    (r"to 32 users", "to 2 users"),
    (r"rows=1000000", "rows=1000"),
    (r"warehouses: \d+", "warehouses: 2"),
    (r"virtual_users: \[\d+\]", "virtual_users: [2]"),
    (r"rampup_s: \d+", "rampup_s: 0"),
    (r"duration_s: \d+", "duration_s: 1"),
    (r"blocks: \d+", "blocks: 2"),
    (r"kill server at 15 s", "kill client at 1 s"),
    (r"\"db1\", workspace", '"lab", load=hdbkit.Load(rampup_s=0, duration_s=1), workspace'),
    (r"ui\(\"lab\", load=[^)]*\)", 'ui("lab"'),
    (r"\"/data/lab(/?)", r'"results\1'),
    (r"results/targets.yaml", "targets.yaml"),
    (r"(hdbkit drop (?!.*--yes).*)", r"\1 --yes"),
)
"""What takes minutes as it is written, asks, or names a folder of the reader."""
NO_PHASES = re.compile(
    r"^hdbkit (run |find-max |profile |sweep lab \S*params/)(?!.*(--workload tproc_h|--json-schema))"
)
PHASES = (("--rampup-s", "0"), ("--duration-s", "1"))
ELSEWHERE = {
    r"^hdbkit [a-z-]+( [a-z]+)?$": "the text names the command and no more",
    r"(mariadb|redis|oracle|sqlserver|db2|timesten|postgresql|odbc)://|odbc:///": "a server of its own: other tests",
    r"/var/tmp/|server (remove|stop)": "the folder of a kept server",
    r"\b(TARGET|ENGINE|RUN|ID|A B)\b|\.\.\.": "a name that the reader fills in",
    r"--install-completion": "changes the shell's files",
    r"^hdbkit (agent|serve|attach|token|demo|stop|batch)\b": "other tests start it",
    r"hammer\.DB|script\.tcl|hdbkit import": "a file of the reader",
    r"my-folder|engine new|engine check|check\.db|new\.db": "a folder or file of the reader; other tests do it",
    r"--schema-from hammerdb": "a schema that HammerDB built; other tests have an imitation",
    r"ssh:hosts.txt|tls://load0": "load hosts; other tests have some",
    r"lab sweep\.yaml": "a file of the reader",
    r"--routing|round_robin": "a target with several nodes",
    r"^hdbkit releases": "the source of a server; other tests build an imitation",
    r"server-1[78]|first second|release-|nightly|20261121|hammerdb-1000": "runs of the reader; other tests compare",
    r"datagen tproc_c": "files of a hundred warehouses; other tests write fewer",
    r"params-hammerpost|hdbkit resume|--accept|recover": "other tests do it",
    r"--workload tproc_h .*-u|--answers": "minutes; other tests do it",
}
"""Commands that are only parsed, and why."""
pytestmark = pytest.mark.timeout(3600)
NO_PYTHON = {"service": "a service of the reader; tests/unit/test_service_client.py asks one"}
"""Pages whose examples are not executed, and why."""
FILES = re.compile(r"Write `(\S+\.yaml)`:\n\n```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""The files that a page has its reader write."""
LAST = ("hdbkit drop", "hdbkit runs rm")
FIRST = ("hdbkit datagen", "hdbkit build lab --warehouses", "hdbkit build", "hdbkit check", "hdbkit run lab")


def reason(line: str) -> str | None:
    """Why a command is not executed here."""
    return next((why for pattern, why in ELSEWHERE.items() if re.search(pattern, line)), None)


def shortened(text: str) -> str:
    """A command or an example with short phases and small schemas."""
    for pattern, short in SHORTENED:
        text = re.sub(pattern, short, text)
    text = re.sub(r"rampup_s=\d+", "rampup_s=0", re.sub(r"duration_s=\d+", "duration_s=1", text))
    return re.sub(r"virtual_users=\d+", "virtual_users=2", text)


def in_order(lines: list[str]) -> list[str]:
    """Builds first, then runs; what removes something last."""
    place = [*FIRST, "hdbkit", *LAST]

    def rank(line: str) -> int:
        if line.startswith(LAST):
            return len(place)
        return next(at for at, start in enumerate(place) if line.startswith(start))

    return sorted(lines, key=rank)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A working folder with the parameters of the repository and a target ``lab``, and the environment for it."""
    folder = tmp_path_factory.mktemp("documents")
    shutil.copytree(ROOT / "params", folder / "params")
    for name, content in FILES.findall("\n".join(page.read_text(encoding="utf-8") for page in GUIDE)):
        (folder / name).write_text(shortened(content))
    assert (folder / "commit.yaml").is_file()
    with private_server(settings={"fsync": "off"}) as server:
        target = server.target.model_copy(update={"may_change_settings": True, "may_restart": True})
        entry = target.model_dump(mode="json", exclude_defaults=True) | {"kind": target.kind}
        (folder / "targets.yaml").write_text(yaml.safe_dump({"lab": entry}))
        names = {"HDBKIT_RESULTS": str(folder / "results"), "HDBKIT_TARGETS": str(folder / "targets.yaml")}
        yield folder, os.environ | names


def execute(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Execute a command; its output if it failed, else nothing."""
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {(done.stdout + done.stderr)[-600:]}"


@pytest.fixture(scope="module")
def failed(lab: tuple[Path, dict[str, str]]) -> Iterator[dict[str, str]]:
    """Every command was executed; those that failed. What removes something is executed at the end of the module."""
    lines = in_order([line for line in typed("hdbkit") if not reason(line)])
    assert len(lines) > 40
    yield commands(lab, [line for line in lines if not line.startswith(LAST)])
    assert commands(lab, [line for line in lines if line.startswith(LAST)]) == {}


def commands(lab: tuple[Path, dict[str, str]], lines: list[str]) -> dict[str, str]:
    """Execute commands; the output of those that failed."""
    (folder, environment), failed = lab, {}
    for line in lines:
        words = shlex.split(shortened(line))[1:]
        if NO_PHASES.match(line):
            phases = PHASES[:1] if "--steps" in line else PHASES  # steps have durations of their own
            words += [word for option, value in phases if option not in words for word in (option, value)]
        answer = execute([sys.executable, "-m", "hdbkit", *words], folder, environment)
        if answer:
            failed[shlex.join(words)] = answer
    return failed


def test_every_command_of_the_documents_does_what_it_says(failed: dict[str, str]) -> None:
    assert failed == {}


@pytest.mark.usefixtures("failed")  # examples use what the commands have built
@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_every_python_example_of_a_page_runs(page: Path, lab: tuple[Path, dict[str, str]]) -> None:
    folder, environment = lab
    if why := NO_PYTHON.get(page.stem):
        pytest.skip(why)
    text = page.read_text(encoding="utf-8")
    sources = [
        one.source
        for one in doctest.DocTestParser().get_examples(re.sub(r"^    (?=>>>|\.\.\.)", "", text, flags=re.M))
    ]
    sources += re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if not sources:
        pytest.skip("it has no Python")
    program = shortened("\n".join(["import hdbkit", *sources]))
    answer = execute([sys.executable, "-c", program], folder, environment)
    assert answer == "", f"{program}\n{answer}"
