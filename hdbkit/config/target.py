"""The database to measure: kind, address, account, and how its server can be controlled.

A target never writes or prints a password. The password comes from the environment (``HDBKIT_PASSWORD``, or the
driver's own such as ``PGPASSWORD``), from the keyring, from a password file in the driver's format, or from memory
(``Target(..., password=...)``), which is excluded from dumps, repr and files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from hdbkit.config.control_spec import ControlSpec
from hdbkit.config.files import read_yaml, validate
from hdbkit.config.installed import kind_and_problem
from hdbkit.config.model import ConfigModel
from hdbkit.config.passwords import ADMIN_PASSWORD_VARIABLE, PASSWORD_VARIABLE, FoundPassword, find_password, one_line
from hdbkit.config.problems import SECRET, did_you_mean
from hdbkit.config.withheld import reason_to_withhold
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.paths import places_of_targets, targets_file

_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:/@,\s]+))(?::(?P<port>[0-9]{1,5}))?")
_REPLICA = re.compile(rf"{_ADDRESS.pattern}(?:/(?P<database>[^/,\s]+))?")


ATTRIBUTES = "target_session_attrs"
"""The option that says which of the addresses is used: libpq's, which other drivers have by the same name."""


class Target(ConfigModel):
    """A database to measure.

    Example:
        >>> Target.parse("postgresql://bench@db1:5432/bench").url
        'postgresql://bench@db1:5432/bench'
    """

    noun: ClassVar[str] = "the target"
    is_control_account: ClassVar[bool] = False
    """Whether it has the account that changes the server's settings, and its password."""

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="kind of database, such as postgresql")
    host: str | None = Field(default=None, min_length=1, description="host name, address, or folder of the socket")
    port: int | None = Field(default=None, ge=1, le=65535)
    fallbacks: tuple[str, ...] = Field(
        default=(), description="further addresses, tried in this order if those before cannot be used: db2:5432"
    )
    replicas: tuple[str, ...] = Field(
        default=(), description="addresses of replicas, for operations that only read (replica_reads)"
    )
    nodes: tuple[str, ...] = Field(
        default=(), description="addresses of further nodes that accept changes, for the load's routing"
    )
    database: str | None = None
    user: str | None = None
    options: dict[str, str] = Field(default_factory=dict, description="options of the driver, such as sslmode")
    password_file: Path | None = Field(default=None, description="password file in the driver's format")
    server_folder: Path | None = Field(default=None, description="folder of a private server")
    may_change_settings: bool = Field(default=False, description="allow hdbkit to change settings of the server")
    may_restart: bool = Field(default=False, description="allow hdbkit to restart the server")
    control: ControlSpec = Field(
        default=ControlSpec(), description="how the server is controlled, in addition to SQL"
    )
    name: str | None = Field(
        default=None, description="name in the targets file, or folder of a private server, if given so"
    )
    password: SecretStr | None = Field(default=None, exclude=True, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same target, regardless of its name."""
        if not isinstance(other, Target):
            return NotImplemented
        return {**self.__dict__, "name": None} == {**other.__dict__, "name": None}

    def __hash__(self) -> int:
        return hash((self.kind, self.host, self.port, self.fallbacks, self.database, self.user))

    @field_validator("*", mode="before")
    @classmethod
    def _no_null(cls, value: Any) -> Any:
        if any(
            "\0" in one for one in (value.values() if isinstance(value, dict) else (value,)) if isinstance(one, str)
        ):
            raise ValueError("a character with the code 0 is not allowed")
        return value

    @field_validator("options")
    @classmethod
    def _no_secret(cls, options: dict[str, str]) -> dict[str, str]:
        for name in options:
            if SECRET.search(name):
                raise ValueError(f"'{name}' looks like a secret; give it in {PASSWORD_VARIABLE} instead")
        return options

    @field_validator("fallbacks", "replicas", "nodes")
    @classmethod
    def _addresses(cls, given: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known, more = (_REPLICA, ", or host:port/database") if info.field_name == "replicas" else (_ADDRESS, "")
        for address in given:
            if not known.fullmatch(address):
                raise ValueError(f"'{address}' is not an address; write host or host:port{more}")
        return given

    @field_validator("password_file")
    @classmethod
    def _home_folder(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None

    @classmethod
    def parse(cls, text: str, targets: Path | None = None) -> Target:
        """A target from a URL without a password, or from a name in the file ``targets`` (``params/targets.yaml``).

        Raises:
            InputError: the URL contains a password or is invalid, or the name is unknown.
            ConfigErrors: the entry of that name has errors.
        """
        return cls._from_url(text) if "://" in text else cls._named(text, targets or targets_file())

    @classmethod
    def _from_url(cls, text: str) -> Target:
        kind, _, rest = text.partition("://")
        if ":" in rest.rpartition("@")[0]:
            raise InputError(
                "the target's URL contains a password; remove it and set the environment variable "
                f"{PASSWORD_VARIABLE} (or the driver's own password file)"
            )
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        _, *fallbacks = authority.rpartition("@")[2].split(",")
        rest = authority.removesuffix("".join(f",{one}" for one in fallbacks)) + rest.removeprefix(authority)
        try:
            parts = urlsplit(f"//{rest}")
            port = parts.port
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        except ValueError as error:
            reason = re.sub(r"( as|:)? ['\"].*", "", str(error))  # the quoted text may contain a password
            raise InputError(
                f"the target is not a valid URL ({reason}); write kind://user@host:port/database"
            ) from None
        if parts.fragment:
            raise InputError("the target is not a valid URL (it has a part after #); write %23 for # within a name")
        host = _stated_once("host", _host(parts.netloc), options)
        kind, implied = kind_and_problem(kind)
        return cls(
            kind=kind,
            host=host,
            port=_stated_once("port", str(port or ""), options) or None if host else port,
            fallbacks=tuple(fallbacks),
            replicas=_listed(options.pop("replicas", "")),
            nodes=_listed(options.pop("nodes", "")),
            database=unquote(parts.path.removeprefix("/")) or None,
            user=unquote(parts.username) if parts.username else None,
            options={**options, **implied},
        )

    @classmethod
    def _named(cls, name: str, path: Path) -> Target:
        content, lines = read_yaml(path)
        known = content if isinstance(content, dict) else {}
        if name not in known:
            if "@" in name:  # an address rather than a name, perhaps with a password
                raise InputError("the target is neither a name nor a URL; write kind://user@host:port/database")
            listed = ", ".join(sorted(map(str, known))) or "none"
            hint = did_you_mean(name, [str(one) for one in known])
            raise InputError(
                f"there is no target '{name}' in {places_of_targets(path)} (known: {listed}).{hint} "
                "A target is a URL such as postgresql://user@host:5432/database, or a name in a file: set "
                "HDBKIT_TARGETS to its path"
            )
        entry = known[name]
        if isinstance(entry, dict) and isinstance(url := entry.get("url"), str):
            stated = cls._from_url(url).model_dump(exclude_defaults=True)
            entry = {**stated, **{key: value for key, value in entry.items() if key != "url"}}
        forbidden = {
            "password": f"passwords are not allowed in files; remove it and set {PASSWORD_VARIABLE}",
            "name": f"the target's name is '{name}' already; remove this key",
        }
        problems = [
            Problem(f"{name}.{key}", what, lines.get((name, key)))
            for key, what in forbidden.items()
            if isinstance(entry, dict) and key in entry
        ]
        if problems:
            raise ConfigErrors(str(path), problems)
        here = {at[1:]: line for at, line in lines.items() if at[:1] == (name,)}
        content = {**entry, "name": name} if isinstance(entry, dict) else entry
        if isinstance(entry, dict) and isinstance(kind := entry.get("kind"), str):
            content["kind"], implied = kind_and_problem(kind)
            if implied and isinstance(options := entry.get("options", {}), dict):
                content["options"] = {**options, **implied}
        return validate(content, cls, source=f"target '{name}' of {path}", lines=here)

    @property
    def given(self) -> str:
        """The text for :meth:`parse`: the name if it has one, else the URL."""
        return self.name or self.url

    @property
    def described(self) -> str:
        """The URL, after the name if it has one: ``lab (postgresql://bench@db1/lab)``."""
        return f"{self.name} ({self.url})" if self.name else self.url

    @property
    def account(self) -> str:
        """The account as the subject of a sentence."""
        return f"account {self.user}" if self.user else "this account"

    @property
    def url(self) -> str:
        """The address without a password, as :meth:`parse` reads it."""
        return self._url(self.options)

    def _url(self, given: Mapping[str, str]) -> str:
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        host, options = self.host or "", dict(given)
        if host.startswith("/"):
            options, host = {"host": host, **options}, ""
        host = f"[{host}]" if ":" in host else quote(host, safe="")
        port = "".join([f":{self.port}" if self.port else "", *(f",{one}" for one in self.fallbacks)])
        for name, addresses in (("replicas", self.replicas), ("nodes", self.nodes)):
            if addresses:
                options[name] = ",".join(addresses)
        query = f"?{urlencode(options)}" if options else ""
        return f"{self.kind}://{user}{host}{port}/{quote(self.database or '')}{query}"

    @property
    def place(self) -> str:
        """The URL without the database, unless that names the server: whom a password is for."""
        return self.model_copy(update={"database": None}).url if self.host else self.url

    @property
    def withheld(self) -> str:
        """Why this address gets no password that the account of a service keeps; empty if it may have it."""
        return reason_to_withhold(self)

    def found_password(self) -> FoundPassword | None:
        """The password from memory, ``HDBKIT_PASSWORD`` or the keyring; if None, the driver looks for one itself.

        For a private server, an empty password makes the driver use only its password file. With ``password_file``,
        the keyring is not used. It is empty as well where it is withheld. Raises ``InputError`` for a line break.
        """
        if self.password:
            one_line(self.password.get_secret_value(), "memory")
            return FoundPassword(self.password, "memory")
        if self.server_folder:
            return FoundPassword(SecretStr(""), "the private server's password file")
        return self._kept(PASSWORD_VARIABLE)

    def _kept(self, variable: str) -> FoundPassword | None:
        """What the environment or the keyring has for this address, if it may have it."""
        if reason := self.withheld:
            return FoundPassword(SecretStr(""), f"none: {reason}")
        return find_password(None if self.password_file else self._url({}), variable)

    def secret_or(self, *elsewhere: Callable[[], str | None]) -> str | None:
        """The password, else the first of those in the driver's own places, unless they are withheld."""
        secret = self.secret()
        if secret or self.withheld:
            return secret
        return next(filter(None, (look() for look in elsewhere)), secret)

    @property
    def addresses(self) -> list[tuple[str | None, int | None]]:
        """Host and port of each of its servers: its own, the fallbacks, replicas and nodes."""
        found = filter(None, (_REPLICA.fullmatch(one) for one in (*self.fallbacks, *self.replicas, *self.nodes)))
        others = ((one["v6"] or one["host"], int(one["port"]) if one["port"] else self.port) for one in found)
        return [(self.host, self.port), *others]

    @property
    def each(self) -> list[Target]:
        """The target at each of its addresses alone, in the order in which they are tried."""
        return [self._at(address) for address in ("", *self.fallbacks)] if self.fallbacks else [self]

    @property
    def first(self) -> Target:
        """The target at its first address alone: the server that is controlled and disturbed."""
        return self.each[0]

    def node(self, number: int) -> Target:
        """The target on one of its nodes; 0 is its own address."""
        return self._at(self.nodes[number - 1] if number else "")

    def replica(self, number: int) -> Target:
        """The target on one of its replicas, taken in turn by ``number``, whatever its role."""
        at = self._at(self.replicas[number % len(self.replicas)])
        return at.with_(options={name: one for name, one in at.options.items() if name != ATTRIBUTES})

    def _at(self, address: str) -> Target:
        """The target at another address (empty: its own), with the same password."""
        secret = self.secret()
        changes: dict[str, Any] = {
            "fallbacks": (),
            "replicas": (),
            "nodes": (),
            "password": SecretStr(secret) if secret else None,
        }
        if found := _REPLICA.fullmatch(address):
            port = int(found["port"]) if found["port"] else self.port
            database = found["database"] or self.database
            changes |= {"host": found["v6"] or found["host"], "port": port, "database": database}
        return self.with_(**changes)

    @property
    def control_account(self) -> Target:
        """The same database with the account that changes the server's settings; clients never use it."""
        if self.control.user is None:
            return self
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return ControlAccount(**{**fields, "user": self.control.user, "password": None, "name": None})

    def secret(self) -> str | None:
        """The password of :meth:`found_password` as text."""
        found = self.found_password()
        return found.password.get_secret_value() if found else None

    def new_password(self) -> str:
        """The password for an account that is to be created. Raises ``InputError`` if there is none."""
        secret = self.secret()
        if not secret:
            raise InputError(
                f"the account of {self.url} does not exist, and no password is given for it; set {PASSWORD_VARIABLE} "
                "to the password that it is to have, and repeat the command; nothing was created"
            )
        return secret

    def with_(self, **changes: Any) -> Target:
        """The same target with some fields changed; keeps the password, removes the name."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if changes.keys() - {"password"}:
            fields["name"] = None
        return type(self)(**{**fields, **changes})


class ControlAccount(Target):
    """An administrator's account: its password is never that of the measured account."""

    is_control_account = True

    def found_password(self) -> FoundPassword | None:
        """The password from ``HDBKIT_ADMIN_PASSWORD`` or the keyring; if empty, the driver uses a password file."""
        return self._kept(ADMIN_PASSWORD_VARIABLE) or FoundPassword(SecretStr(""), "a password file")


def target_names(targets: Path) -> list[str]:
    """The names in a targets file, in order; empty if there is no such file. Raises ``InputError``."""
    content = read_yaml(targets)[0] if targets.is_file() else None
    return [str(name) for name in content] if isinstance(content, dict) else []


def _stated_once(part: str, there: str | None, options: dict[str, str]) -> Any:
    """A part of the address, which a URL may have as an option. Raises ``InputError`` for two values."""
    given = options.pop(part, None)
    if there and given and there != given:
        raise InputError(f"the target's URL has two values of its {part}, {there} and {given}; remove one")
    return there or given


def _host(netloc: str) -> str:
    """The host of ``user@host:port``, with its case (``urlsplit`` would convert it to lower case)."""
    host = netloc.rpartition("@")[2]
    return host[1:].partition("]")[0] if host.startswith("[") else unquote(host.partition(":")[0])


def _listed(addresses: str) -> tuple[str, ...]:
    return tuple(filter(None, addresses.split(",")))
