"""Passwords in the words of a command, which plans, manifests and messages would repeat.

A secret is found by its name (``PGPASSWORD=x``, ``--password x``), by its option (``-px``, ``curl -u name:x``), or in
a URL. The name of a file that has it is no secret, and neither is a variable of a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hdbkit.config.problems import SECRET, without_secrets

_NAMED = re.compile(r"(?:-{0,2})(?P<name>[\w.-]+?)=(?P<value>.+)", re.DOTALL)
_OPTION = re.compile(r"--?(?P<name>[\w.-]{2,})")
_SHORT = re.compile(r"-p(?!\d+$)[^\s/-].*")  # -p2222 is a port, -p/bin/x a path
_VARIABLE = re.compile(r"[\"']?\$")
_PLACE = re.compile(r"[-_.]?(file|path|name|stdin|prompt|command)$", re.IGNORECASE)


def secret_in(command: Sequence[str]) -> str | None:
    """The option, variable or URL that has a secret in it, without the secret; None if there is none."""
    words = [part for word in command for part in _parts(word)]
    calls_web = any(Path(word).name == "curl" for word in words)
    for word, following in pairwise([*words, "-"]):
        if (named := _NAMED.fullmatch(word)) and _is_secret(named["name"], named["value"]):
            return f"{word.partition('=')[0]}=..."
        if (
            (option := _OPTION.fullmatch(word))
            and not following.startswith("-")
            and _is_secret(option["name"], following)
        ):
            return word
        if _SHORT.fullmatch(word):
            return "-p..."
        if calls_web and word in ("-u", "--user") and ":" in following:
            return f"{word} NAME:..."
        if "://" in word and without_secrets(word) != word:
            return without_secrets(word)
    return None


def _is_secret(name: str, value: str) -> bool:
    plain = re.sub(r"^(?:.*_)?pwd$", "pwd", name, flags=re.IGNORECASE)
    return bool(SECRET.search(plain)) and not _PLACE.search(name) and not _VARIABLE.match(value)


def _parts(word: str) -> list[str]:
    """The words of a word, which may be a script for a shell."""
    if not re.search(r"\s", word):
        return [word]
    try:
        return shlex.split(word)
    except ValueError:  # an odd number of quotes
        return word.split()
