"""The order in which loaders are given their jobs."""

from __future__ import annotations

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Event, Thread

from hdbkit.loading.loaders import Done, Loaders, LoadStep


class TwoThreads(Loaders):
    """Loaders that note their jobs."""

    def __init__(self) -> None:
        pairs = [Pipe() for _ in range(2)]
        self._stop, self._pipes, self.noted = Event(), [ours for ours, _ in pairs], list[str]()
        for _, theirs in pairs:
            Thread(target=self._work, args=(theirs,), daemon=True).start()

    def _work(self, jobs: Connection) -> None:
        while True:
            job: LoadStep = jobs.recv()
            self.noted.append(job.name)
            jobs.send(Done())


def test_a_step_begins_when_those_before_it_are_done() -> None:
    loaders = TwoThreads()
    loaders.do([LoadStep("last", frozenset({"a", "b"})), LoadStep("a"), LoadStep("b"), LoadStep("c")])
    assert loaders.noted.index("last") > max(loaders.noted.index("a"), loaders.noted.index("b"))
    assert sorted(loaders.noted) == ["a", "b", "c", "last"]
