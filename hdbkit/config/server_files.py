"""Settings of a server as its own configuration files have them: ``postgresql.conf``, ``my.cnf``, ``redis.conf``.

A line is ``name = value`` or ``name value``. A file with groups, such as ``[mysqld]``, is an option file of MariaDB
or MySQL: the groups that their servers read count, and a dash in a name is an underscore.
"""

from __future__ import annotations

import re
from pathlib import Path

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text

_LINE = re.compile(
    r"(!?[\w.-]++)(?=[=\s#;]|$)\s*+(=?+)\s*+('(?:[^'\\]|''|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|[^#;'\"]*+)\s*+(?:[#;].*)?",
    re.ASCII,
)
_GROUP = re.compile(r"\[\s*([\w.-]+)\s*\]")
_OF_SERVERS = re.compile(r"(client-)?server|\w+[db](-[\d.]+)?")
"""A server's groups have the name of its program, which ends in d, or of the product; clients' end otherwise."""
_ELSEWHERE = re.compile(r"!?include\w*")
_NOT_READ = "another file is not read; copy its lines into this one"
_NO_SETTING = "is not a setting, such as name = value"
_ESCAPED = re.compile(r"\\(.)|''")


def settings_of_file(path: Path) -> dict[str, str]:
    """The settings of a server's configuration file, by name; the last line of a name counts.

    Raises:
        InputError: it cannot be read.
        ConfigErrors: a line is not a setting, or includes another file.
    """
    try:
        lines = [line.strip() for line in read_text(path).split("\n")]
    except ValueError as error:
        raise InputError(str(error)) from None
    found: dict[str, str] = {}
    problems, of_options, counts = [], any(map(_GROUP.fullmatch, lines)), True
    for number, line in enumerate(lines, 1):
        if group := _GROUP.fullmatch(line):
            counts = bool(_OF_SERVERS.fullmatch(group[1]))
        elif line.startswith("!") or (counts and line and line[0] not in "#;"):
            one = _LINE.fullmatch(line)
            if one is None or _ELSEWHERE.fullmatch(one[1]):
                problems.append(Problem(line[:60], _NO_SETTING if one is None else _NOT_READ, number))
            else:
                name = one[1].replace("-", "_").removeprefix("loose_") if of_options else one[1]
                found[name] = _plain(one[3].rstrip()) if one[2] or one[3] else "on"
    if problems:
        raise ConfigErrors(str(path), problems)
    if not found:
        raise InputError(f"{path} has no setting of a server")
    return found


def _plain(value: str) -> str:
    """A value without its quotes."""
    if value[:1] not in ("'", '"'):
        return value
    return _ESCAPED.sub(lambda one: one[1] or "'", value[1:-1])
