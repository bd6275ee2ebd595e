"""Settings of HammerDB as a target, a workload, options of a build and a load. The table is ``keys.yaml``.

A password, and a value whose key is unknown, appears neither in the files nor in an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.files import Lines, read_yaml, validate
from hdbkit.config.problems import did_you_mean
from hdbkit.config.specs import MODELS
from hdbkit.contracts import Database
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, Problem
from hdbkit.hammerdb.reading import NOTHING, ReadCommand
from hdbkit.text import option_words

_PARTS = ("target", "workload", "build", "load")
_COMPUTED = "the value is computed when the script runs; give it yourself"
_UNKNOWN = "the key is not known; nothing of it was used"
_IN_DICTIONARY = "dictionary key value"
_ARGUMENTS = {"dbset": "key value", "diset": _IN_DICTIONARY, "giset": _IN_DICTIONARY, "vuset": "key value"}
_SETTING = re.compile(rf"\b({'|'.join(_ARGUMENTS)})\b")
_INSIDE = "settings in it are not read, since the script decides about them when it runs; give them yourself"
_COUNTS = "a loop over numbers of virtual users; hdbkit profile measures them, in randomized blocks: -u {}"
_LOOPS = (
    re.compile(r"(?P<name>\w+)\s+(?P<counts>\d+(?:\s+\d+)*)\s+(?P<body>.*)", re.DOTALL),
    re.compile(r"for (?P<name>\w+) in [\[(](?P<counts>\d+(?:, \d+)*),?[\])]:(?P<body>.*)", re.DOTALL),
)
"""A loop over numbers in Tcl, and in Python."""
_ACTION = f"only {', '.join(_ARGUMENTS)} are translated; nothing of it was read or executed"


@dataclass(frozen=True)
class Translation:
    """What a file of HammerDB becomes."""

    target: Target
    workload: WorkloadSpec
    loaders: int | None
    load: Load
    user_counts: tuple[int, ...]
    """The numbers of virtual users over which the script loops; empty without such a loop."""
    left_out: tuple[tuple[int, str, str], ...]
    """What has no counterpart: its line, its name, the reason."""

    @property
    def workload_words(self) -> list[str]:
        """The options of the command line for the workload, with its scale only if the file has one."""
        return _without_default_scale(self.workload, self.workload.words)

    @property
    def build_words(self) -> list[str]:
        """The options of a build, with the scale only if the file has one."""
        return _without_default_scale(self.workload, self.workload.build_words)


def _without_default_scale(spec: WorkloadSpec, words: list[str]) -> list[str]:
    if not spec.scale_field or spec.scale_field in spec.model_fields_set:
        return words
    at = words.index(option_words(spec.scale_field, spec.size)[0])
    return words[:at] + words[at + 2 :]


@cache
def translation() -> Mapping[str, Any]:
    """The content of ``keys.yaml``."""
    content: Mapping[str, Any] = read_yaml(Path(__file__).with_name("keys.yaml"))[0]
    return content


def translate(
    given: Sequence[ReadCommand], source: str, benchmark: str | None = None, database: str | None = None
) -> Translation:
    """Translate the settings of a file.

    Args:
        given: what :func:`~hdbkit.hammerdb.reading.read_settings` returned.
        source: the file, for errors.
        benchmark: which benchmark's settings to take; None: what the file chooses, else the first.
        database: HammerDB's name of the database (``pg``); None: what the file chooses.

    Raises:
        ConfigErrors: with all errors of the file.
    """
    work = _Translator()
    work.choose(given, benchmark, database)
    for one in given:
        work.take(one)
    work.take_dependent()
    if work.database not in translation()["databases"]:
        raise ConfigErrors(source, work.ordered, NOTHING)
    return work.result(source)


@dataclass
class _Translator:
    problems: list[Problem] = field(default_factory=list)
    left_out: list[tuple[int, str, str]] = field(default_factory=list)
    database: str = ""
    benchmark: str = ""
    fields: dict[str, dict[str, Any]] = field(default_factory=lambda: {one: {} for one in _PARTS})
    lines: dict[str, Lines] = field(default_factory=lambda: {one: {} for one in _PARTS})
    values: dict[str, str] = field(default_factory=dict)
    """The last value of each setting, by dictionary and key."""
    user_counts: tuple[int, ...] = ()
    """Those of a loop over numbers of virtual users."""
    dependent: list[tuple[ReadCommand, str, Mapping[str, Any], str]] = field(default_factory=list)
    """Settings that count only where another one is true: name, rule, value."""

    @property
    def ordered(self) -> list[Problem]:
        return sorted(self.problems, key=lambda one: one.line or 0)

    def wrong(self, one: ReadCommand, where: str, what: str) -> None:
        self.problems.append(Problem(where, what, one.line))

    def choose(self, given: Sequence[ReadCommand], benchmark: str | None, database: str | None) -> None:
        """Find the database and the benchmark, which decide about the meaning of all other settings."""
        benchmarks = translation()["benchmarks"]
        self.benchmark = next(iter(benchmarks))
        for one in given:
            if one.command == "root":
                self._choose_root(one)
            elif one.command == "dbset" and one.arguments and len(one.arguments) == 2:
                given_here = {"db": database, "bm": benchmark}.get(str(one.arguments[0]))
                if given_here is None:
                    self._choose_by_dbset(one, *one.arguments)
        if benchmark is not None:
            self._choose_benchmark(ReadCommand(0, "benchmark", ()), benchmark)
        if database is not None:
            self._choose_by_dbset(ReadCommand(0, "database", ()), "db", database)
        if not self.database and not self.problems:
            known = ", ".join(translation()["databases"])
            self.problems.append(Problem("dbset", f"the script chooses no database; give one as database: {known}"))

    def _choose_root(self, one: ReadCommand) -> None:
        roots = {entry["root"]: name for name, entry in translation()["databases"].items()}
        root = str(one.arguments[0]) if one.arguments else ""
        self.database = roots.get(root, "")
        if not self.database:
            files = ", ".join(f"{name}.xml" for name in roots)
            self.wrong(one, f"<{root}>", f"is not the configuration of a database; give one of {files}")

    def _choose_by_dbset(self, one: ReadCommand, key: str | None, value: str | None) -> None:
        if key in {"db", "bm"} and value is None:
            self.wrong(one, f"dbset {key}", "must be a constant, since it decides what all other settings mean")
        elif key == "db":
            known = list(translation()["databases"])
            self.database = str(value).lower()
            if self.database not in known:
                self.wrong(one, "dbset db", f"'{value}' is not a database ({', '.join(known)})")
        elif key == "bm":
            self._choose_benchmark(one, str(value))
        else:
            self.wrong(one, "dbset", f"the key is db or bm, not '{key}'")

    def _choose_benchmark(self, one: ReadCommand, value: str) -> None:
        for name, entry in translation()["benchmarks"].items():
            if value.upper() in {name, entry["also"]}:
                self.benchmark = name
                return
        self.wrong(one, one.command, f"'{value}' is not a benchmark ({', '.join(translation()['benchmarks'])})")

    def take(self, one: ReadCommand) -> None:
        """Translate one command."""
        if one.command == "root":
            return
        if one.command not in _ARGUMENTS:
            self._leave_out_command(one)
            return
        words = _ARGUMENTS[one.command]
        if one.arguments is None or len(one.arguments) != len(words.split()):
            count = "named arguments" if one.arguments is None else f"{len(one.arguments)}"
            self.wrong(one, one.command, f"takes {len(words.split())} arguments ({words}), not {count}")
        elif one.command == "vuset":
            self._set(one, "vuset", translation()["vuset"], *one.arguments)
        elif one.command == "giset":
            self._generic(one, *one.arguments)
        elif one.command == "diset" and self.database in translation()["databases"]:
            self._dictionary(one, *one.arguments)

    def _leave_out_command(self, one: ReadCommand) -> None:
        """List a command that is no setting: once, or each time if it contains settings, as a loop does."""
        text = " ".join(word for word in one.arguments or () if word)
        loop = next(filter(None, (each.fullmatch(text) for each in _LOOPS)), None)
        if loop and one.command in ("foreach", "for"):
            text, users = re.subn(rf"vuset\W+vu\W+{loop['name']}\b", "", loop["body"])
            if users:
                self.user_counts = tuple(map(int, re.findall(r"\d+", loop["counts"])))
                listed = ",".join(map(str, self.user_counts))
                self.left_out.append((one.line, one.command, _COUNTS.format(listed)))
                if not _SETTING.search(text):
                    return
        if _SETTING.search(text):
            self.left_out.append((one.line, one.command, _INSIDE))
        elif one.command not in {name for _, name, _ in self.left_out}:
            self.left_out.append((one.line, one.command, _ACTION))

    def take_dependent(self) -> None:
        """Translate the settings that depend on others, since those may follow them."""
        for one, name, rule, value in self.dependent:
            dictionary, _, _ = name.partition(" ")
            switch = f"{dictionary} {translation()['databases'][self.database]['prefix']}{rule['when']}"
            if self.values.get(switch, "").lower() in _TRUE:
                self._keep(one, name, rule, value)
            else:
                self.left_out.append((one.line, name, f"{switch} is not true"))

    def _generic(self, one: ReadCommand, dictionary: str | None, key: str | None, _value: str | None) -> None:
        known = translation()["generic"]
        if dictionary not in known:
            self.wrong(
                one, "giset", f"unknown dictionary '{dictionary}'.{did_you_mean(str(dictionary), list(known))}"
            )
        else:
            reason = known[dictionary].get(key)
            self.left_out.append((one.line, f"{dictionary} {key}", _reason(reason) if reason else _UNKNOWN))

    def _dictionary(self, one: ReadCommand, dictionary: str | None, key: str | None, value: str | None) -> None:
        known = translation()["dictionaries"]
        if dictionary not in known:
            hint = did_you_mean(str(dictionary), list(known))
            self.wrong(one, "diset", f"unknown dictionary '{dictionary}' ({', '.join(known)}).{hint}")
            return
        keys = keys_of(self.database, str(dictionary))
        others = {entry["dictionary"] for entry in translation()["benchmarks"].values()} - {self._entry["dictionary"]}
        if key in keys and dictionary in others:
            self.left_out.append((one.line, f"{dictionary} {key}", f"the benchmark is {self.benchmark}"))
        else:
            self._set(one, f"diset {dictionary}", keys, key, value)

    @property
    def _entry(self) -> Mapping[str, Any]:
        entry: Mapping[str, Any] = translation()["benchmarks"][self.benchmark]
        return entry

    def _set(self, one: ReadCommand, where: str, keys: Mapping[str, Any], key: str | None, value: str | None) -> None:
        rule = keys.get(str(key))
        name = f"{where.removeprefix('diset ')} {key}"
        if rule is None:
            self.left_out.append((one.line, name, f"{_UNKNOWN}.{did_you_mean(str(key), list(keys))}"))
        elif "none" in rule:
            self.left_out.append((one.line, name, _reason(rule["none"])))
        elif value is None or value in rule.get("computed", ()):
            self.left_out.append((one.line, name, _COMPUTED))
        else:
            self.values[name] = value
            if "when" in rule:
                self.dependent.append((one, name, rule, value))
            else:
                self._keep(one, name, rule, value)

    def _keep(self, one: ReadCommand, name: str, rule: Mapping[str, Any], value: str) -> None:
        part, _, into = rule["to"].partition(".")
        values = rule.get("values", {})
        try:
            made = values[value.lower()] if value.lower() in values else _AS[rule.get("as", "text")](value)
        except ValueError as error:
            self.wrong(one, name, str(error))
            return
        outer, _, inner = into.partition(".")
        if made is None:
            if part != "target":  # another key of the same target may have named it
                self.fields[part].pop(outer, None)
            return
        self.fields[part][outer] = {**self.fields[part].get(outer, {}), inner: made} if inner else made
        self.lines[part][outer,] = one.line

    def result(self, source: str) -> Translation:
        """The models of the collected fields. Raises ``ConfigErrors`` with the errors of all of them."""
        target = {"kind": translation()["databases"][self.database]["kind"], **self.fields["target"]}
        found = MODELS[self._entry["workload"]]
        loaders = self.fields["build"].pop("loaders", None)
        self._leave_out_foreign(database(target["kind"]))
        spec = {"kind": self._entry["workload"], **self.fields["workload"], **self.fields["build"]}
        load = {**self._entry["load"], **self.fields["load"]}
        lines = {"workload": self.lines["workload"] | self.lines["build"]}
        if loaders is not None and loaders < 1:
            self.problems.append(Problem("loaders", "must be 1 or more", self.lines["build"]["loaders",]))
        checked_spec = self._checked(source, spec, found.spec, lines["workload"])
        checked_load = self._checked(source, load, found.load, self.lines["load"])
        checked_target = self._checked(source, target, Target, self.lines["target"])
        if self.problems or checked_spec is None or checked_load is None:
            raise ConfigErrors(source, self.ordered, NOTHING)
        left_out = sorted(self.left_out, key=lambda one: one[0])
        return Translation(checked_target, checked_spec, loaders, checked_load, self.user_counts, tuple(left_out))

    def _leave_out_foreign(self, engine: Database) -> None:
        """Leave out options of the build that the engine lacks: scripts have them for a variant of the database."""
        for name in sorted(self.fields["build"].keys() - engine.schema_options.model_fields):
            del self.fields["build"][name]
            self.left_out.append((self.lines["build"][name,], name, f"{engine.title} has no such option"))

    def _checked(self, source: str, content: dict[str, Any], model: Any, lines: Lines) -> Any:
        try:
            return validate(content, model, source, lines)
        except ConfigErrors as error:
            self.problems += error.problems
            return None


def keys_of(database: str, dictionary: str) -> dict[str, Any]:
    """The keys of a database's dictionary as scripts write them, with what each becomes."""
    prefix = translation()["databases"][database]["prefix"]
    rules = translation()["dictionaries"][dictionary].items()
    mine = {stem: rule for stem, rule in rules if database in rule.get("only", [database])}
    named = prefix or f"{database}_"
    return {f"{named if stem == _DRIVER else prefix}{stem}": rule for stem, rule in mine.items()}


def _reason(named: str) -> str:
    return str(translation()["reasons"].get(named, named))


def _integer(value: str) -> int:
    if not (value.isascii() and value.removeprefix("-").isdigit() and len(value) <= _MAX_DIGITS):
        raise ValueError(f"must be a whole number, not '{value[:_MAX_SHOWN]}'")
    return int(value)


def _number(value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        raise ValueError(f"must be a number, not '{value[:_MAX_SHOWN]}'") from None
    return found


def _flag(value: str) -> bool:
    if value.lower() not in _TRUE | {"false", "0"}:
        raise ValueError(f"must be true or false, not '{value[:_MAX_SHOWN]}'")
    return value.lower() in _TRUE


_DRIVER = "driver"
_TRUE = frozenset({"true", "1"})
_MAX_DIGITS = 18
_MAX_SHOWN = 40
_AS: Mapping[str, Callable[[str], Any]] = {
    "text": str,
    "integer": _integer,
    "number": _number,
    "flag": _flag,
    "minutes": lambda value: round(60 * _number(value), 3),
}
