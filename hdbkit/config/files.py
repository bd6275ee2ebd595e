"""YAML and JSON files with line numbers, so that a mistake can be told with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from hdbkit.config.mistakes import mistakes_of
from hdbkit.errors import ConfigErrors, InputError, Mistake

Lines = dict[tuple[str | int, ...], int]
Model = TypeVar("Model", bound=BaseModel)

_LARGEST_FILE = 4 << 20
_DEEPEST = 40


def read_yaml(path: Path) -> tuple[Any, Lines]:
    """The content of a YAML or JSON file and the line of every place in it.

    Raises:
        InputError: the file is missing, unreadable, too large, or not YAML.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path} is larger than {_LARGEST_FILE >> 20} MB: not a parameter file")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text: {_first_line(error)}") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: Lines = {}
        content = _content(node, (), lines, []) if node is not None else None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML: {_first_line(error)}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path} cannot be understood: {_first_line(error)}") from None
    except ConfigErrors as error:
        raise ConfigErrors(str(path), error.mistakes) from None
    return content, lines


def read_params(path: Path, model: type[Model]) -> Model:
    """The file at ``path`` as a value of ``model``; all its mistakes at once."""
    content, lines = read_yaml(path)
    return validate(content, model, source=str(path), lines=lines)


def validate(content: Any, model: type[Model], source: str, lines: Lines | None = None) -> Model:
    """``content`` as a value of ``model``.

    Raises:
        ConfigErrors: with every mistake, each with its line where ``lines`` knows it.
    """
    if not isinstance(content, dict):
        raise ConfigErrors(source, [Mistake("the whole", "must be keys and values", 1)])
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigErrors(source, mistakes_of(error, model, lines)) from None


def _content(node: yaml.Node, at: tuple[str | int, ...], lines: Lines, above: list[yaml.Node]) -> Any:
    """The plain value of a YAML node; fills ``lines``; refuses aliases that hold themselves."""
    if len(above) > _DEEPEST or any(node is one for one in above):
        raise ValueError("it is nested too deeply")
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        content: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = _content(key_node, (*at, "?"), {}, [*above, node])
            if not isinstance(key, str):
                raise ValueError(f"line {key_node.start_mark.line + 1}: the key {key!r} must be a word")
            if key in content:
                raise ConfigErrors("", [Mistake(key, "is given twice", key_node.start_mark.line + 1)])
            lines[(*at, key)] = key_node.start_mark.line + 1
            content[key] = _content(value_node, (*at, key), lines, [*above, node])
        return content
    if isinstance(node, yaml.SequenceNode):
        return [_content(one, (*at, i), lines, [*above, node]) for i, one in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node, deep=True)
    finally:
        loader.dispose()


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
