"""The parameters of a notebook: its cell tagged ``parameters``, and files with other values.

The cell contains only lines ``name: type = value`` and comments, so that values can be validated before execution.
Of ``name = value``, the type is that of the value.
Types are made of int, float, bool, str, list, dict and None, such as ``list[int]`` or ``float | None``. Secrets are
rejected, also by name, because executed notebooks contain the values.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hdbkit.config.files import Lines, read_yaml
from hdbkit.config.problems import SECRET, did_you_mean, location, problems_of
from hdbkit.config.target import Target
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.trust import trusted

PRIVATE = "private"
"""The target name that means a private server."""
TAG = "parameters"
_TYPES: dict[str, Any] = {one.__name__: one for one in (int, float, bool, str, list, dict)}
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_PASSWORD_WITHIN = re.compile(r"://[^/\s@]*:[^/\s@]*@|\b(password|pwd)\s*=", re.IGNORECASE)
_REFUSED = (
    "looks like a secret; notebooks and their files must not contain any, set HDBKIT_PASSWORD "
    "(or the driver's own variable) instead"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook: its type as written, the validator of values, and the default."""

    written: str
    adapter: TypeAdapter[Any]
    default: Any


class NotebookInputs:
    """The parameters of a notebook, by name; see :func:`read_notebook`."""

    def __init__(self, path: Path, parameters: Mapping[str, Parameter], targets: Path | None = None) -> None:
        self.path, self.parameters, self.targets = path, parameters, targets

    def check(self, values: Any, source: str, lines: Lines | None = None) -> dict[str, Any]:
        """Validate ``values`` of some of the parameters, and return them unchanged.

        Raises:
            ConfigErrors: with all errors: unknown names, wrong types, secrets, invalid targets.
        """
        if values is None:
            return {}
        if not isinstance(values, dict):
            raise ConfigErrors(source, [Problem("the whole", "must be keys and values", 1)])
        problems = [found for name, value in values.items() for found in self._wrong(name, value, lines or {})]
        if problems:
            raise ConfigErrors(source, problems)
        return values

    def _wrong(self, name: str, value: Any, lines: Lines) -> list[Problem]:
        secrets = [Problem(location(at), _REFUSED, _line(at, lines)) for at in _secrets((name,), value)]
        if secrets:
            return secrets
        if name not in self.parameters:
            hint = did_you_mean(name, list(self.parameters))
            known = f"{self.path.name} has no such parameter (it has: {', '.join(self.parameters) or 'none'}).{hint}"
            return [Problem(name, known, lines.get((name,)))]
        try:
            self.parameters[name].adapter.validate_python(value)
        except ValidationError as error:
            found = problems_of(error, BaseModel, {at[1:]: line for at, line in lines.items() if at[:1] == (name,)})
            return [Problem(_within(name, one.where), one.what, one.line) for one in found]
        return self._wrong_target(name, value, lines)

    def _wrong_target(self, name: str, value: Any, lines: Lines) -> list[Problem]:
        if name != "target" or value == PRIVATE or not isinstance(value, str):
            return []
        try:
            Target.parse(value, self.targets)
        except InputError as error:
            return [Problem(name, str(error), lines.get((name,)))]
        return []


def read_notebook(path: Path, targets: Path | None = None) -> NotebookInputs:
    """The parameters of the notebook at ``path``; does not execute it.

    A target may be a name in the file ``targets``, by default the one of the environment.

    Raises:
        InputError: it is not a notebook, has no cell tagged ``parameters``, or that cell has other content.
    """
    try:
        cells = json.loads(trusted(path).read_bytes())["cells"]
        sources = [_text(cell["source"]) for cell in cells if TAG in cell.get("metadata", {}).get("tags", ())]
    except FileNotFoundError:
        raise InputError(f"there is no notebook {path}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is not a readable notebook") from None
    if len(sources) != 1:
        raise InputError(
            f"{path} has {len(sources)} cells tagged '{TAG}'; it needs one, with lines 'name: type = value' or "
            "'name = value'"
        )
    try:
        statements = ast.parse(sources[0]).body
    except SyntaxError as error:
        raise InputError(
            f"the parameters of {path} are not valid Python (line {error.lineno}: {error.msg})"
        ) from None
    parameters = dict(_parameter(statement, path) for statement in statements)
    for name in parameters:
        if SECRET.search(name):
            raise InputError(f"parameter '{name}' of {path} {_REFUSED}")
    return NotebookInputs(path, parameters, targets)


def read_parameters(notebook: NotebookInputs, path: Path) -> dict[str, Any]:
    """The values of a parameter file. Raises ``InputError`` with all errors and their lines."""
    values, lines = read_yaml(path)
    return notebook.check(values, str(path), lines)


def _parameter(statement: ast.stmt, path: Path) -> tuple[str, Parameter]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=written, value=ast.expr() as value):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            written = ast.parse(_type_of(value), mode="eval").body
        case _:
            raise InputError(
                f"the parameters of {path} (line {statement.lineno}) may only contain 'name: type = value' or "
                "'name = value'"
            )
    try:
        kind: TypeAdapter[Any] = TypeAdapter(_type(written), config=_STRICT)
        default = kind.validate_python(ast.literal_eval(value))
    except (ValueError, TypeError) as error:
        reason = "the value does not match the type" if isinstance(error, ValidationError) else str(error)
        raise InputError(f"parameter '{name}' of {path} needs a plain type and a literal value ({reason})") from None
    return name, Parameter(ast.unparse(written), kind, default)


def _type_of(value: ast.expr) -> str:
    """The type of a default that has none, as usual in papermill's notebooks; of None any plain type."""
    try:
        default = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return "None"  # the default is refused
    return type(default).__name__ if default is not None else " | ".join([*_TYPES, "None"])


def _type(written: ast.expr) -> Any:
    """The type of an annotation. Raises ``ValueError`` unless it is made of plain types."""
    match written:
        case ast.Name(id=name) if name in _TYPES:
            return _TYPES[name]
        case ast.Constant(value=None):
            return None
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=inner)):
            return _type(outer)[tuple(map(_type, inner))]
        case ast.Subscript(value=outer, slice=inner):
            return _type(outer)[_type(inner)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _type(left) | _type(right)
    raise ValueError(f"'{ast.unparse(written)}' is not made of {', '.join(_TYPES)} and None")


def _secrets(at: tuple[str | int, ...], value: Any) -> list[tuple[str | int, ...]]:
    """Each part of a value that looks like a secret: by its key, or as an address with a password."""
    if isinstance(at[-1], str) and SECRET.search(at[-1]):
        return [at]
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in _secrets((*at, str(key)), one)]
    if isinstance(value, list):
        return [found for i, one in enumerate(value) for found in _secrets((*at, i), one)]
    return [at] if isinstance(value, str) and at != ("target",) and _PASSWORD_WITHIN.search(value) else []


def _line(at: tuple[str | int, ...], lines: Lines) -> int | None:
    return next((lines[at[:length]] for length in range(len(at), 0, -1) if at[:length] in lines), None)


def _within(name: str, where: str) -> str:
    if where == "the whole":
        return name
    return f"{name}{where}" if where.startswith("[") else f"{name}.{where}"


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
