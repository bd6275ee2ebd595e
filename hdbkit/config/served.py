"""What those who use a service may name: the clusters and the text settings of its operator, and no file of its host.

The processes that a service starts have the variable ``HDBKIT_SERVED``; elsewhere everything is permitted that the
user names. What only a file of results names is limited alike everywhere: it may come from elsewhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping

SERVED_VARIABLE = "HDBKIT_SERVED"
_CLUSTERS, _TEXTS = "clusters", "text_settings"
_OPTION = re.compile(
    r"service|driver|gssdelegation|init.*|.*(file|path|dir|lib)|ssl_?(key|cert|ca|rootcert|crl.*)|.*default_group",
    re.IGNORECASE,
)
"""Options of drivers that name files, or what is in them, or hand on what the account may do elsewhere."""


def served_environment(clusters: Collection[str], text_settings: Collection[str] = ()) -> dict[str, str]:
    """The variable for a process that works for a service."""
    return {SERVED_VARIABLE: json.dumps({_CLUSTERS: sorted(clusters), _TEXTS: sorted(text_settings)})}


def served_clusters() -> frozenset[str] | None:
    """The clusters that the operator of this process's service named; None outside a service."""
    return _named(_CLUSTERS)


def served_texts() -> frozenset[str] | None:
    """The text settings that the operator of this process's service named; None outside a service."""
    return _named(_TEXTS)


def _named(what: str) -> frozenset[str] | None:
    given = os.environ.get(SERVED_VARIABLE)
    return None if given is None else frozenset(json.loads(given)[what])


def cluster_problem(text: str, permitted: Collection[str] | None) -> str:
    """Why a cluster must not be used; empty if it may. ``permitted`` is None outside a service."""
    if permitted is None or text in permitted:
        return ""
    named = ", ".join(sorted(permitted)) or "none"
    return (
        f"'{text}' is not a cluster of this service (its operator named: {named}); use one of these, "
        "or have the service started with --cluster"
    )


def option_problem(options: Mapping[str, str]) -> str:
    """Why a URL that was typed in a service's panel must not be used; empty if it may, or outside a service."""
    wrong = None if served_clusters() is None else option_of_file(options)
    return (
        f"the option '{wrong}' names a file of the service's host; use a target of its targets file, or omit it"
        if wrong
        else ""
    )


def option_of_file(options: Mapping[str, str]) -> str | None:
    """The first option of a driver that names a file or a program; None without."""
    return next((name for name, one in options.items() if _OPTION.fullmatch(name) or "/" in one), None)
