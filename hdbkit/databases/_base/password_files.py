"""Password files of drivers: whether one has a password for an account. Passwords are never kept."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_VALUE = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^#]*[^#\s])?)""")
"""A value of an option file, without its quotes or the comment behind it."""
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " "}
_FIELD = re.compile(r"((?:[^:\\]|\\.)*)(?::|$)")


def in_colon_file(path: Path, host: str, port: int, database: str, user: str) -> bool:
    """Whether a file of lines ``host:port:database:user:password`` (``*`` matches any) has one for this account.

    A file that others may read is ignored, as by the driver.
    """
    wanted = (host, str(port), database, user)
    return any(
        all(field in ("*", value) for field, value in zip(fields, wanted, strict=False))
        for fields in _colon_lines(path)
        if len(fields) > len(wanted)
    )


def in_account_file(path: Path | None, user: str) -> str | None:
    """The password of an account in a file of lines ``user:password``; None if there is none."""
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return dict(line.split(":", 1) for line in lines if ":" in line).get(user)


def in_option_file(path: Path, groups: Sequence[str]) -> str | None:
    """The password in the first of these groups of an option file (``[group]``, ``name = value``) that has one."""
    parser = configparser.ConfigParser(allow_no_value=True, strict=False, interpolation=None, delimiters=("=",))
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        parser.read_string("\n".join(line for line in lines if not line.startswith("!")))
    except (OSError, ValueError, configparser.Error):
        return None
    given = filter(None, (parser.get(group, "password", fallback=None) for group in groups))
    if (found := _VALUE.match(next(given, ""))) is None:
        return None
    text = next(filter(None, found.groups()), "")
    return re.sub(r"\\([btnrs\\\"'])", lambda escape: _ESCAPES.get(escape[1], escape[1]), text) or None


def _colon_lines(path: Path) -> Iterator[list[str]]:
    try:
        if path.stat().st_mode & 0o077:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        if not line.startswith("#"):
            yield [re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(line)[:-1]]
