"""How the server of a target is controlled: commands and a file on this host, or an agent on the server's host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hdbkit.config.hosts import is_loopback
from hdbkit.config.model import ConfigModel
from hdbkit.config.problems import SECRET, without_secrets

_NAMED = re.compile(r"(?:-{0,2})(?P<name>[\w.-]+?)=(?P<value>.+)", re.DOTALL)
_OPTION = re.compile(r"--?(?P<name>[\w.-]{2,})")
_SHORT = re.compile(r"-p(?!\d+$)[^\s/-].*")  # -p2222 is a port, -p/bin/x a path
_VARIABLE = re.compile(r"[\"']?\$")
_PLACE = re.compile(r"[-_.]?(file|path|name|stdin|prompt|command)$", re.IGNORECASE)


def secret_in(command: Sequence[str]) -> str | None:
    """The option, variable or URL that has a secret in it, without the secret; None if there is none.

    A secret is found by its name (``PGPASSWORD=x``, ``--password x``), by its option (``-px``, ``curl -u name:x``),
    or in a URL. The name of a file that has it is no secret, and neither is a variable of a shell.
    """
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


AGENT_PORT = 8443
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class Commands(ConfigModel):
    """Commands as lists of arguments, executed without a shell.

    ``status`` exits with 0 if the server is running, otherwise with another code.
    """

    stop: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    restart: tuple[str, ...] = Field(default=(), description="default: stop, then start")
    restore: tuple[str, ...] = Field(
        default=(),
        description="brings the data back to what it was before the experiment, as by a snapshot of its storage; the "
        "server runs when it begins and when it ends, with the same settings",
    )
    failover: tuple[str, ...] = Field(default=(), description="makes another server the primary one")
    reload: tuple[str, ...] = Field(
        default=(), description="makes the server read its settings file; default: by SQL, else by a signal"
    )

    @field_validator("stop", "start", "status", "restart", "restore", "failover", "reload")
    @classmethod
    def _no_secret(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if found := secret_in(command):
            raise ValueError(
                f"'{found}' has a password, which plans and manifests would repeat; have the command read it from a "
                "file that only its account may read, such as a password file or a script of its own"
            )
        return command

    @property
    def can_restart(self) -> bool:
        """Whether these commands can restart the server."""
        return bool(self.restart or (self.stop and self.start))


class ControlSpec(ConfigModel):
    """The entry ``control`` of a target; if empty, the server is controlled by SQL only.

    Example:
        >>> ControlSpec(agent="https://db1.example", fingerprint="0a" * 32).agent_address
        ('db1.example', 8443)
    """

    commands: Commands = Field(default=Commands(), description="commands on this host that stop and start the server")
    config_file: Path | None = Field(
        default=None, description="configuration file of the server; hdbkit appends lines to it"
    )
    drop_in: Path | None = Field(
        default=None, description="folder of the server's configuration files; hdbkit adds a file to it"
    )
    user: str | None = Field(
        default=None,
        min_length=1,
        description="administrator's account for control only; its password is in HDBKIT_ADMIN_PASSWORD",
    )
    restart_timeout_s: float = Field(
        default=600.0, gt=0, description="maximum seconds for the server to stop, and to start and recover"
    )
    log: Path | None = Field(default=None, description="log of the server, shown if it does not start")
    agent: str | None = Field(default=None, description="address of the agent on the server's host: https://db1:8443")
    fingerprint: str | None = Field(default=None, description="SHA-256 of the agent's certificate")
    agent_account: str | None = Field(
        default=None,
        min_length=1,
        description="account that runs the agent, if the agent is reached on this host without TLS and runs as "
        "neither root nor the account of hdbkit",
    )
    token_file: Path | None = Field(
        default=None, description="file with the agent's token, unless HDBKIT_AGENT_TOKEN has it"
    )
    client_certificate: Path | None = Field(
        default=None, description="certificate of this client (PEM), where the agent requires one"
    )
    client_key: Path | None = Field(default=None, description="key of client_certificate (PEM, without passphrase)")
    wait_s: float = Field(default=300.0, ge=0, description="seconds to wait for an unreachable agent")

    @field_validator("config_file", "drop_in", "log", "token_file", "client_certificate", "client_key")
    @classmethod
    def _home_folder(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None

    @field_validator("fingerprint")
    @classmethod
    def _plain_fingerprint(cls, text: str | None) -> str | None:
        plain = text.replace(":", "").strip().lower() if text else None
        if plain is not None and not _FINGERPRINT.fullmatch(plain):
            raise ValueError("must be the SHA-256 of a certificate: 64 hexadecimal digits, with or without colons")
        return plain

    @field_validator("agent")
    @classmethod
    def _plain_address(cls, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            parts = urlsplit(text)
            host = parts.hostname if parts.port != 0 else None
        except ValueError:
            host = None
        rest = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc if host else True
        if rest or parts.scheme not in ("https", "http"):
            raise ValueError("must be the address of an agent such as https://db1.example:8443, without a path")
        if parts.scheme == "http" and not is_loopback(host or ""):
            raise ValueError("must be https: an agent's token is never sent to another host in plain text")
        return text.rstrip("/")

    @model_validator(mode="after")
    def _one_way(self) -> ControlSpec:
        if self.config_file and self.drop_in:
            raise ValueError(
                "config_file and drop_in are mutually exclusive; give the one that the server reads last"
            )
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError("client_certificate and client_key belong together; give both, or neither")
        here = self.config_file or self.drop_in or self.log or self.user or self.commands != Commands()
        if self.agent and here:
            raise ValueError(
                "with an agent, commands, files and an administrator's account belong in the target of the agent "
                "itself"
            )
        return self

    @property
    def agent_address(self) -> tuple[str, int]:
        """Host and port of the agent."""
        parts = urlsplit(self.agent or "")
        return parts.hostname or "", parts.port or AGENT_PORT

    @property
    def has_file(self) -> bool:
        """Whether settings are written to a file on this host."""
        return bool(self.config_file or self.drop_in)
