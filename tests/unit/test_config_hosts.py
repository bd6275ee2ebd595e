"""Addresses of this host, and those of others."""

import pytest

from hdbkit.config.hosts import is_local, is_loopback


@pytest.mark.parametrize(
    "host", [None, "", "/run/postgresql", "@abstract", "localhost", "LOCALHOST", "127.0.0.9", "::1"]
)
def test_reached_without_a_network(host: str | None) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["db1", "10.0.0.1", "127.example", "localhost.example", "0.0.0.0"])
def test_reached_over_a_network(host: str) -> None:
    assert not is_local(host)


def test_a_socket_is_no_loopback_address() -> None:
    assert not is_loopback("/run/postgresql")
