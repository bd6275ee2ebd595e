"""What those who use a service may name: the clusters of its operator, and no setting that names a program or file.

The processes that a service starts have the variable ``HDBKIT_SERVED``; elsewhere everything is permitted that the
user names. What only a file of results names is limited alike everywhere: it may come from elsewhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping

from hdbkit.config.sweep_values import Formula

VARIABLE = "HDBKIT_SERVED"
_ELSEWHERE = re.compile(
    r".*[_-](command|cmd|librar(y|ies)|provider|path|director(y|ies)|dir|dirname|file|filename|conninfo|destination"
    r"|program|repository|output)"
    r"|(.*[_-])?(dir|datadir|basedir|tmpdir|pidfile|logfile|aclfile|keyfile|dbfilename|unixsocket|socket)"
    r"|plugin[_-].*|.*preload.*|init[_-].*|load(module)?|include|log[_-]error|log[_-]bin.*|relay[_-]log.*"
    r"|(replica|slave)of|enable-.*-(command|configs)|secure_file_priv|.*[_-]?extensions?([_-].*)?|local[_-]infile"
    r"|xp_cmdshell|clr .*|external .*|ole .*|.*[.]on_.*init|.*start_proc|wsrep[_-](sst|cluster|node)[_-].*"
    r"|(.*[_-])?ssl[_-](ca|capath|cert|crl|crlpath|key)",
    re.IGNORECASE,
)
"""Settings with which servers execute programs, load code, connect to others, or read and write files elsewhere."""

_OPTION = re.compile(
    r"service|driver|gssdelegation|init.*|.*(file|path|dir|lib)|ssl_?(key|cert|ca|rootcert|crl.*)|.*default_group",
    re.IGNORECASE,
)
"""Options of drivers that name files, or what is in them, or hand on what the account may do elsewhere."""


def environment(clusters: Collection[str]) -> dict[str, str]:
    """The variable for a process that works for a service."""
    return {VARIABLE: json.dumps(sorted(clusters))}


def served_clusters() -> frozenset[str] | None:
    """The clusters that the operator of this process's service named; None outside a service."""
    given = os.environ.get(VARIABLE)
    return None if given is None else frozenset(json.loads(given))


def cluster_problem(text: str, permitted: Collection[str] | None) -> str:
    """Why a cluster must not be used; empty if it may. ``permitted`` is None outside a service."""
    if permitted is None or text in permitted:
        return ""
    named = ", ".join(sorted(permitted)) or "none"
    return (
        f"'{text}' is not a cluster of this service (its operator named: {named}); use one of these, "
        "or have the service started with --cluster"
    )


def setting_problem(name: str, values: Collection[str]) -> str:
    """Why a service must not change a setting to one of these values; empty if it may."""
    if _ELSEWHERE.fullmatch(name):
        return f"'{name}' may name a program, file or address of the server's host; a service does not change it"
    if wrong := next((one for one in values if ("/" in one or "\\" in one) and not isinstance(one, Formula)), None):
        return f"'{wrong}' may name a program, file or address; a service changes no setting to such a value"
    return ""


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
