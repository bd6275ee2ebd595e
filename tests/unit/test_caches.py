"""What empties the caches before a run, and when that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.config import Cache, Target
from hdbkit.contracts import ServerControl
from hdbkit.servers import power

HERE = Target(kind="postgresql", host="127.0.0.1", database="lab")


class Server:
    """A server that counts its restarts."""

    identity = "db1:5432"

    def __init__(self, can_restart: bool = True) -> None:
        self.can_restart, self.restarts = can_restart, 0

    def restart(self) -> float:
        self.restarts += 1
        return 0.0


def server(can_restart: bool = True) -> ServerControl:
    return Server(can_restart)  # type: ignore[return-value]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's file that empties the page cache."""
    path = tmp_path / "drop_caches"
    path.touch()
    monkeypatch.setattr(power, "PAGE_CACHE", path)
    return path


@pytest.mark.parametrize(("cache", "restarts", "written"), [("warm", 0, ""), ("restart", 1, ""), ("cold", 1, "1")])
def test_a_state_of_the_cache_needs_a_restart_and_the_page_cache(
    pages: Path, cache: str, restarts: int, written: str
) -> None:
    own = Server()
    power.empty(Cache(cache), HERE, own)  # type: ignore[arg-type]
    assert (own.restarts, pages.read_text()) == (restarts, written)


def test_caches_that_cannot_be_emptied_are_refused_with_the_reason(pages: Path) -> None:
    elsewhere = HERE.with_(host="db1")
    assert power.obstacle(Cache.WARM, elsewhere, server(False)) == ""
    assert power.obstacle(Cache.COLD, HERE, server()) == ""
    assert "cannot restart db1:5432" in power.obstacle(Cache.RESTART, HERE, server(False))
    assert "only root on the host of" in power.obstacle(Cache.COLD, elsewhere, server())
    assert power.obstacle(Cache.FLUSH, Target.parse("duckdb:////x"), server()).endswith(
        "has no command that empties its cache; use 'restart'"
    )
    pages.unlink()
    assert "only root on the host of" in power.obstacle(Cache.COLD, HERE, server())
