"""What a cluster is, and how users are shared among its hosts."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import psutil
import pytest

from hdbkit.cluster import host as host_module
from hdbkit.cluster.connection import Connection, OwnFolder, connected, ssh_cluster
from hdbkit.cluster.host import LoadHost
from hdbkit.cluster.hosts import shares
from hdbkit.config import Load
from hdbkit.config.cluster import Cluster, read_hosts, security_of
from hdbkit.errors import ConfigErrors, HdbkitError
from hdbkit.execution.live_sums import Sums
from hdbkit.execution.load_hosts import NotedHost
from hdbkit.results.spool import record_type
from tests.run.conftest import wait_for
from tests.unit.synthetic import write_run


def test_the_forms_of_a_cluster(tmp_path: Path) -> None:
    assert Cluster.parse("local:4") == Cluster(local=4)
    assert Cluster.parse(f"ssh:{tmp_path}/hosts").hosts == tmp_path / "hosts"
    assert Cluster.parse("tls://load0:8786").needs_tls
    unsafe = Cluster.parse("unencrypted:tcp://127.0.0.1:8786")
    assert (unsafe.needs_tls, "has no encryption" in unsafe.warning) == (False, True)
    assert not Cluster.parse("local:4").warning
    assert Cluster.parse("ssh:hosts.txt").needs_tls


@pytest.mark.parametrize(
    "text", ["local:0", "local:9999", "local:x", "ssh:", "http://a:1", "tcp://127.0.0.1", "load0"]
)
def test_what_is_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(ConfigErrors, match="cluster"):
        Load(cluster=text)


def test_connections_with_another_host_are_encrypted() -> None:
    for text in ("tcp://10.0.0.1:8786", "unencrypted:tcp://10.0.0.1:8786"):
        with pytest.raises(ConfigErrors, match="must be encrypted"):
            Load(cluster=text)
    with pytest.raises(ConfigErrors, match="accept that with unencrypted:tcp:"):
        Load(cluster="tcp://127.0.0.1:8786")


def test_another_account_of_the_host_cannot_use_a_cluster_of_this_host_nor_find_its_key() -> None:
    distributed = pytest.importorskip("distributed")
    with connected(Cluster(local=1)) as connection:
        (worker,) = connection.await_workers()
        scheduler = connection._deployed.scheduler
        addresses, others = (scheduler.address, worker), distributed.Security.temporary()
        wrong = [(one.replace("tls:", "tcp:"), None) for one in addresses] + [(one, others) for one in addresses]
        with ThreadPoolExecutor() as at_once:  # each is tried until its timeout
            tried = [at_once.submit(distributed.Client, one, security=by, timeout=3) for one, by in wrong]
        assert [one for one in tried if not isinstance(one.exception(), OSError)] == []
        port = scheduler.http_server.port
        for page in ("/info/main/workers.html", "/json/counts.json", "/health", "/metrics", "/proxy/22/127.0.0.1/"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"http://127.0.0.1:{port}{page}", timeout=5)
        assert connection.result(connection.task(os.getpid, "pid", [worker])) not in (None, os.getpid())
        words = [word for one in psutil.Process().children(recursive=True) for word in words_of(one)]
        assert words
        assert not any("PRIVATE KEY" in word for word in words)
    named = [Path(place, name) for place, _, names in os.walk(tempfile.gettempdir()) for name in names]
    assert not [one for one in named if one.suffix in (".pem", ".crt", ".key") and "dask" in one.name]


def words_of(process: psutil.Process) -> list[str]:
    """All that the process list tells of a process; nothing once it has ended."""
    with suppress(psutil.NoSuchProcess):
        return [*process.cmdline(), *process.environ().values()]
    return []


def test_a_file_of_hosts(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# two\nload1\n\nbench@load2:2222  # by another port\n")
    assert read_hosts(file) == ["load1", "bench@load2:2222"]
    for content in ("# none\n", "-oProxyCommand=x\n", "a b\n"):
        file.write_text(content)
        with pytest.raises(ValueError, match="hosts"):
            read_hosts(file)


def test_encrypted_connections_need_files_that_are_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed")  # whose defaults come with its import
    dask = pytest.importorskip("dask")
    cluster = Cluster.parse("tls://load0:8786")
    names = ("ca-file", "client.cert", "client.key")
    with (
        dask.config.set({f"distributed.comm.tls.{one}": None for one in names}),
        pytest.raises(ValueError, match="lacks tls_ca_file, tls_"),
    ):
        security_of(cluster)
    with (
        dask.config.set({f"distributed.comm.tls.{one}": str(tmp_path / "ca.pem") for one in names}),
        pytest.raises(ValueError, match=r"ca\.pem .+ is no file"),
    ):
        security_of(cluster)
    assert security_of(Cluster.parse("local:2")) is None


def test_a_host_that_refuses_ssh_is_one_sentence() -> None:
    pytest.importorskip("asyncssh")
    security = pytest.importorskip("distributed").Security.temporary()
    folder = OwnFolder()
    with pytest.raises(HdbkitError, match=r"cannot be started by SSH: .+ \(see docs/cluster.md\)$"):
        ssh_cluster(["127.0.0.1:1"], None, security, folder)
    folder.close()


def test_no_folder_that_others_made_is_used_by_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from hdbkit.cluster.local_worker import RemoteWorker

    (kept := tmp_path / "kept").write_text("content")
    (theirs := tmp_path / "dask-scratch-space").mkdir()
    (theirs / "global.lock").symlink_to(kept)  # dask opens it for writing
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with connected(Cluster.parse("local:1")) as connection:
        assert connection.await_workers()
        assert str(theirs) not in sys.path  # dask imports modules from there
        assert len([*tmp_path.glob("hdbkit-dask-*")]) == 2, "of the scheduler, and of the worker, which is killed"
    wait_for(lambda: not [*tmp_path.glob("hdbkit-dask-*")])
    options = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}

    async def worked() -> None:
        async with (
            distributed.Scheduler(local_directory=tmp_path / "other", **options) as scheduler,
            RemoteWorker(scheduler.address, nthreads=1, memory_limit=0, **options),
        ):
            pass

    asyncio.run(worked())
    assert kept.read_text() == "content"


@pytest.mark.parametrize(("clients", "hosts"), [(200, 4), (10, 4), (3, 3), (7, 100)])
def test_each_client_has_one_host(clients: int, hosts: int) -> None:
    found = shares(clients, hosts)
    assert [client for one in found for client in one] == list(range(clients))
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_live_sums_of_hosts_add_up_to_those_of_all() -> None:
    draw = np.random.default_rng(1)
    records = np.zeros(4000, record_type({}))
    records["end_ns"] = draw.lognormal(13, 1, 4000)
    records["outcome"], records["operation"] = draw.integers(0, 3, 4000), draw.integers(0, 2, 4000)
    whole, added = Sums(), Sums()
    whole.add(records, False)
    for part in np.array_split(records, 3):
        of_host = Sums()
        of_host.add(part, False)
        added.include(of_host.sent)
    assert added.sent == whole.sent
    kept = records[(records["outcome"] != 2) & (records["operation"] == 1)]
    numbers = {int(bucket): n for bucket, n in whole.sent["1"].items() if bucket.isdigit()}
    assert sum(numbers.values()) == kept.size


def test_a_long_run_keeps_a_bounded_number_of_estimates_of_a_clock() -> None:
    host = NotedHost(number=0, name="load0", cores=2, machine="", clients=(0, 1), users=1)
    for second in range(0, 100_000, 10):
        host.add((second, 5.0, 1.0 + second % 20))
    assert len(host.estimates) <= 500
    assert (host.estimates[0][0], host.estimates[-1][0]) == (0, 99_990)
    assert sum(uncertainty > 1 for *_, uncertainty in host.estimates[1:-300]) < 10, "the more certain ones are kept"


class Loop:
    """Stands for a client of dask, whose calls are made in its event loop."""

    def sync(self, function: Any, callback_timeout: float) -> Any:
        return asyncio.run(function())


async def answer(what: Any) -> Any:
    """Return it, or raise it; a text hangs."""
    if isinstance(what, Exception):
        raise what
    if isinstance(what, str):
        await asyncio.sleep(60)
    return what


def test_a_host_that_fails_or_hangs_does_not_concern_the_others() -> None:
    """An actor of a lost worker raises errors of many kinds."""
    pytest.importorskip("distributed")
    connection = Connection(Cluster(local=1))
    connection._client = Loop()
    answers = {0: 7, 1: ValueError("Worker holding Actor was lost"), 2: KeyError(1), 3: "hangs", 4: 9}
    calls = {number: partial(answer, one) for number, one in answers.items()}
    assert connection.all(calls, 0.05) == {0: 7, 4: 9}
    assert connection.all({}, 1) == {}
    with pytest.raises(HdbkitError, match="no driver"):
        connection.all({**calls, 5: partial(answer, HdbkitError("no driver"))}, 0.05, raising=(HdbkitError,))


def test_other_accounts_read_no_file_of_a_load_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(host_module, "start_program", lambda *_, **__: (_ for _ in ()).throw(OSError))
    plan = write_run(tmp_path / "a", duration_s=1).folder.read().plan.model_dump_json()
    before = os.umask(0o022)  # as that of a worker which somebody else has started
    try:
        one = LoadHost("b", 0)
        with pytest.raises(OSError):
            one.prepare(f'{{"plan": {plan}}}', None)
    finally:
        os.umask(before)
    assert one.held()
    assert one.folder.path.stat().st_mode & 0o777 == 0o700
