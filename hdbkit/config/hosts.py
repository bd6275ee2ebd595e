"""Which addresses are this host's own."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address or name is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_local(host: str | None) -> bool:
    """Whether a target with this host is reached without a network: in this process, by a socket, or by loopback."""
    return not host or host.startswith(("/", "@")) or is_loopback(host)
