"""YAML and JSON files with line numbers, for error messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hdbkit.config.problems import location, problems_of
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import is_utf8, read_text
from hdbkit.later import yaml
from hdbkit.yaml_nodes import MAX_NESTING, compose

Lines = dict[tuple[str | int, ...], int]
Model = TypeVar("Model", bound=BaseModel)
_MAX_VALUES = 100_000
_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(path: Path) -> tuple[Any, Lines]:
    """The content of a YAML or JSON file, and the line of every value.

    Raises:
        InputError: the file is missing, unreadable, too large, or not YAML.
    """
    try:
        text = read_text(path)
    except ValueError as error:
        raise InputError(str(error)) from None
    if path.suffix == ".json":
        text = text.replace("\t", " ")  # YAML does not allow tabs as JSON does
    reader = _Reader()
    try:
        node = compose(text)
        content = reader.content(node, (), 0) if node is not None else None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not valid YAML: {_problem(error)}") from None
    except ValueError as error:
        raise InputError(f"{path} cannot be parsed: {_one_line(error)}") from None
    if reader.problems:
        raise ConfigErrors(str(path), reader.problems)
    return content, reader.lines


def read_params(path: Path, model: type[Model]) -> Model:
    """Read the file at ``path`` as a ``model``. Raises ``ConfigErrors`` with all errors."""
    content, lines = read_yaml(path)
    return validate(content, model, source=str(path), lines=lines)


def validate(content: Any, model: type[Model], source: str, lines: Lines | None = None) -> Model:
    """Validate ``content`` as a ``model``.

    Raises:
        ConfigErrors: with all errors, and their lines if ``lines`` has them.
    """
    if not isinstance(content, dict):
        raise ConfigErrors(source, [Problem("the whole", "must be keys and values", 1)])
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigErrors(source, problems_of(error, model, lines)) from None


class _Reader:
    """Converts YAML nodes to plain values; records their lines and duplicate keys."""

    def __init__(self) -> None:
        self.lines: Lines = {}
        self.problems: list[Problem] = []
        self._values = 0

    def content(self, node: yaml.Node, at: tuple[str | int, ...], depth: int) -> Any:
        """The plain value of ``node``; raises ``ValueError`` for aliases that are recursive or grow without limit."""
        self._values += 1
        if depth > MAX_NESTING or self._values > _MAX_VALUES:
            raise ValueError(f"it has more than {_MAX_VALUES} values, or is nested more than {MAX_NESTING} deep")
        self.lines.setdefault(at, _line(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.content(one, (*at, i), depth + 1) for i, one in enumerate(node.value)]
        if node.tag in _NUMBERS and ":" in node.value:  # not converted: its time grows with the square of the length
            what = "is a number of base 60 in YAML; put it in quotes, or write a plain number"
            self.problems.append(Problem(location(at), what, _line(node)))
            return node.value
        value = _scalar(node)
        if isinstance(value, str) and not is_utf8(value):
            self.problems.append(Problem(location(at), "must be text that UTF-8 can encode", _line(node)))
        return value

    def _mapping(self, node: yaml.MappingNode, at: tuple[str | int, ...], depth: int) -> dict[str, Any]:
        content, own = self._merged(node, at, depth), set[str]()
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            is_text = isinstance(key_node, yaml.ScalarNode) and key_node.tag not in _NUMBERS
            key = _scalar(key_node) if is_text else None
            if not isinstance(key, str):
                raise ValueError(f"line {_line(key_node)}: a key must be text (put it in quotes)")
            if not is_utf8(key):
                raise ValueError(f"line {_line(key_node)}: a key must be text that UTF-8 can encode")
            here = (*at, key)
            if key in own:
                self.problems.append(Problem(location(here), "duplicate key", _line(key_node)))
            self.lines[here] = _line(key_node)
            own.add(key)
            content[key] = self.content(value_node, here, depth + 1)
        return content

    def _merged(self, node: yaml.MappingNode, at: tuple[str | int, ...], depth: int) -> dict[str, Any]:
        """The keys of the mappings that ``<<`` names, the first one's first; the node's own keys replace them."""
        content: dict[str, Any] = {}
        named = [value for key, value in node.value if key.tag == _MERGE]
        for value in named:
            for base in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(base, yaml.MappingNode):
                    content = self.content(base, at, depth + 1) | content
                else:
                    what = "must be a mapping, such as *name, or a list of mappings"
                    self.problems.append(Problem(location((*at, "<<")), what, _line(base)))
        return content


def _with_pairs_joined(text: str) -> str:
    """A text with each surrogate pair, as JSON escapes some characters, as one character; a lone half stays."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _scalar(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        value = loader.construct_object(node, deep=True)
        return _with_pairs_joined(value) if isinstance(value, str) else value
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        raise ValueError(f"line {_line(node)}: the value is not of the type {node.tag}") from None
    finally:
        loader.dispose()


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _problem(error: yaml.YAMLError) -> str:
    """The error and its line, without the text of that line, which may contain a password."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return _one_line(error)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


At = tuple[str | int, ...]


@dataclass(frozen=True)
class Origin:
    """A file and its lines. All origins compare equal, so that equality depends only on the value."""

    source: str = field(default="", compare=False)
    lines: Lines = field(default_factory=dict, compare=False)

    def line(self, at: At) -> int | None:
        """The line of a value, or of the innermost enclosing one that has a line."""
        return next((self.lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in self.lines), None)

    def errors(self, otherwise: str, found: Sequence[tuple[At, str]]) -> ConfigErrors:
        """``found`` (location and message) as one error; ``otherwise`` is the source if there is no file."""
        problems = [Problem(location(at), what, self.line(at)) for at, what in found]
        return ConfigErrors(self.source or otherwise, problems)
