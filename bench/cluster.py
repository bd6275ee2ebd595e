"""Load hosts in network namespaces: their rate beside that of one host, their clocks, and what their loss costs.

Each host has an address of its own, a monotonic clock of its own (a time namespace), and encrypted connections.
All traffic stays in namespaces that the benchmark makes, and removes at the end. It needs root and Linux.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.common import blocks, quick_or, show, title

HOSTS, USERS = 4, quick_or(40, 200)
WINDOW_S = quick_or(8, 20)
BLOCKS = quick_or(1, 3)
LATENCY_US = 100_000
CUT_OFF_S = 10
_NET, _HUB = "10.231.77", "hdbkit-hub"
_BIN = Path(sys.executable).parent
_AHEAD_S = (0, 1_000, 2_000, 3_000)
"""How far the clocks of the hosts are ahead of the coordinator's."""


def name_of(number: int) -> str:
    """The namespace of a host; 0 is the coordinator's."""
    return f"hdbkit-{number}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def network() -> Iterator[None]:
    """A namespace with a bridge, and one for the coordinator and each host."""
    names = [name_of(number) for number in range(HOSTS + 1)]
    with ExitStack() as made:
        for name in (_HUB, *names):
            _ip("netns", "add", name)
            made.callback(_ip, "netns", "del", name)
        _ip("-n", _HUB, "link", "add", "bridge", "type", "bridge")
        _ip("-n", _HUB, "link", "set", "bridge", "up")
        for number, name in enumerate(names):
            _ip("-n", _HUB, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", _HUB, "link", "set", f"port{number}", "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{_NET}.{number + 1}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", name, "link", "set", link, "up")
        yield


def certificates(folder: Path) -> dict[str, str]:
    """An authority and one certificate, and the environment in which dask uses them."""
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hdbkit bench"]
    pem, key = folder / "host.pem", folder / "host-key.pem"
    subprocess.run([*openssl, "-keyout", key, "-out", pem], check=True, stderr=subprocess.DEVNULL)
    found = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true", "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(pem)}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        found |= {
            f"DASK_DISTRIBUTED__COMM__TLS__{role}__{what}": str(path) for what, path in (("CERT", pem), ("KEY", key))
        }
    return found


def kill_in(namespace: str) -> None:
    """Kill all processes of a namespace."""
    found = subprocess.run(["ip", "netns", "pids", namespace], check=True, capture_output=True, text=True)
    for pid in found.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


class Hosts:
    """A scheduler in the coordinator's namespace, and a worker on each host."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, **certificates(folder), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
        self.address = f"tls://{_NET}.1:8786"
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._scheduler = self._started(0, "scheduler", "--host", f"{_NET}.1", "--port", "8786", "--no-dashboard")
        for number in range(1, HOSTS + 1):
            self.start(number)

    def _started(self, number: int, *words: str, ahead_s: int = 0) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{words[0]}{number}.log").open("ab")
        clock = ["unshare", "-T", "--monotonic", str(ahead_s), "--fork", "--kill-child"] if ahead_s else []
        environment = {**self.environment, "XDG_STATE_HOME": str(self.folder / f"state{number}")}
        inside = ["ip", "netns", "exec", name_of(number), *clock, str(_BIN / "dask"), *words]
        return subprocess.Popen(inside, env=environment, stdout=log, stderr=log, cwd=self.folder)

    def start(self, number: int) -> None:
        """Start the worker of a host."""
        words = ["worker", self.address, "--host", f"{_NET}.{number + 1}", "--no-dashboard", "--nthreads", "1"]
        self._workers[number] = self._started(number, *words, "--no-nanny", ahead_s=_AHEAD_S[number - 1])

    def kill(self, number: int) -> None:
        """Kill everything on a host, as the loss of its power does."""
        kill_in(name_of(number))
        self._workers[number].wait()

    def link(self, number: int, state: str) -> None:
        """Set the link of a host up or down."""
        _ip("-n", _HUB, "link", "set", f"port{number}", state)

    def begin(self, *, cluster: bool) -> Run:
        """Start a run on the coordinator."""
        target = f"nulldb:///clusterbench{os.getpid()}?latency_us={LATENCY_US}"
        words = ["run", target, "-u", str(USERS), "--rampup-s", "2", "--duration-s", str(WINDOW_S), "--json"]
        words += ["--cluster", self.address] if cluster else []
        inside = ["ip", "netns", "exec", name_of(0), str(_BIN / "hdbkit"), *words]
        environment = {**self.environment, "HDBKIT_RESULTS": str(self.folder / "results")}
        return Run(subprocess.Popen(inside, env=environment, stdout=subprocess.PIPE, text=True), self.folder)

    def build(self) -> None:
        """Build the schema of the null engine."""
        target = f"nulldb:///clusterbench{os.getpid()}"
        subprocess.run([_BIN / "hdbkit", "build", target, "--warehouses", "2"], check=True, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        """End all processes."""
        for number in range(HOSTS + 1):
            kill_in(name_of(number))
        for one in (self._scheduler, *self._workers.values()):
            one.wait()
        target = f"nulldb:///clusterbench{os.getpid()}"
        subprocess.run([_BIN / "hdbkit", "drop", target, "--yes"], check=False, stdout=subprocess.DEVNULL)


class Run:
    """A run in progress."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder

    def measuring(self) -> None:
        """Wait until its window has begun."""
        while True:
            for path in (self._folder / "results").glob("*/manifest.json"):
                if json.loads(path.read_text())["status"] == "measuring":
                    return
            if self._process.poll() is not None:
                raise RuntimeError("the run ended before its window")
            time.sleep(0.2)

    def result(self) -> dict[str, Any]:
        """Its manifest, once it has ended."""
        text, _ = self._process.communicate(timeout=300)
        run_id = json.loads(text)["run_id"]
        found: dict[str, Any] = json.loads((self._folder / "results" / run_id / "manifest.json").read_text())
        return found


def check(manifest: dict[str, Any], name: str) -> str:
    """Whether a check passed, with its detail."""
    (found,) = [one for one in manifest["checks"] if one["name"] == name]
    return f"{({True: 'passed', False: 'failed', None: 'undecided'})[found['passed']]}: {found['detail']}"


def print_findings(manifest: dict[str, Any]) -> None:
    """The checks and warnings of a run with a loss."""
    for name in ("load hosts reached", "schema's count bracketed by the clients", "every transaction accounted for"):
        print(f"    {name}: {check(manifest, name)}", flush=True)
    for warning in manifest["warnings"]:
        print(f"    warning: {warning}", flush=True)


def complete(manifest: dict[str, Any], at_least: int) -> None:
    """How many hosts delivered their records."""
    found = sum(one["is_complete"] for one in manifest["load_hosts"])
    show("hosts whose records are complete", [found], at_least=at_least)


def rates(hosts: Hosts) -> None:
    """The same users on four hosts and on one, in random order; then the clocks of those on four."""
    title(f"{HOSTS} load hosts with {USERS // HOSTS} users each, beside one host with {USERS}, on the null engine")
    ways = {"four": lambda: hosts.begin(cluster=True).result(), "one": lambda: hosts.begin(cluster=False).result()}
    done = blocks(ways, BLOCKS)
    ratios = [one["four"]["result"]["operations_per_s"] / one["one"]["result"]["operations_per_s"] for one in done]
    show("operations per second, four hosts to one", ratios, at_least=0.98)
    counted = [check(one["four"], "schema's count bracketed by the clients").startswith("passed") for one in done]
    show("runs of four hosts whose count is bracketed", [sum(counted)], at_least=BLOCKS)
    each = [one["four"]["load_hosts"] for one in done]
    starts = [[host["first_operation_ms"] for host in of] for of in each]
    show(
        "first operations of the hosts, largest difference",
        [max(of) - min(of) for of in starts],
        unit="ms",
        at_most=2,
    )
    show(
        "uncertainty of the clocks", [max(host["uncertainty_ms"] for host in of) for of in each], unit="ms", at_most=2
    )
    wrong = [max(abs(host["offset_ms"] - _true_ms(host)) for host in of) for of in each]
    show("error of the clocks, which are set", wrong, unit="ms", at_most=2)


def _true_ms(host: dict[str, Any]) -> float:
    """The offset that was set: the nearest one, as hosts are numbered by their addresses."""
    return min((1000.0 * one for one in _AHEAD_S), key=lambda one: abs(one - host["offset_ms"]))


def cut_off(hosts: Hosts) -> None:
    """Take the link of a host away for a time."""
    hosts.link(HOSTS, "down")
    time.sleep(CUT_OFF_S)
    hosts.link(HOSTS, "up")


def disturbed(hosts: Hosts, after_s: float, disturb: Callable[[], None]) -> dict[str, Any]:
    """The manifest of a run that is disturbed within its window; its checks and warnings are printed."""
    run = hosts.begin(cluster=True)
    run.measuring()
    time.sleep(after_s)
    disturb()
    manifest = run.result()
    print_findings(manifest)
    return manifest


def losses(hosts: Hosts) -> None:
    """A host is cut off and comes back; another one dies."""
    title(f"One of {HOSTS} hosts is cut off for {CUT_OFF_S} s and comes back")
    manifest = disturbed(hosts, 2, lambda: cut_off(hosts))
    cut = [one["cut_off_s"] for one in manifest["load_hosts"] if one["cut_offs"]]
    show("hosts that were cut off", [len(cut)], at_least=1)
    show("time that it was cut off, as reported", [statistics.fmean(cut)], unit="s")
    complete(manifest, HOSTS)
    title(f"One of {HOSTS} hosts dies")
    manifest = disturbed(hosts, WINDOW_S / 4, lambda: hosts.kill(HOSTS))
    complete(manifest, HOSTS - 1)


def _end(*_: object) -> None:
    raise SystemExit(1)


def main() -> int:
    """Make the network, measure, remove it."""
    if os.geteuid() != 0 or not Path("/proc/self/ns/time").exists():
        print("bench.cluster is skipped: network and time namespaces need root and Linux 5.6")
        return 0
    signal.signal(signal.SIGTERM, _end)
    with tempfile.TemporaryDirectory() as folder, network():
        hosts = Hosts(Path(folder))
        try:
            hosts.build()
            rates(hosts)
            losses(hosts)
        finally:
            hosts.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
