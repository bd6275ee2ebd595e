"""The settings in a file of HammerDB: a Tcl script, a Python script or an XML configuration. Nothing is executed."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text
from hdbkit.hammerdb.tcl import Unclosed, commands

_SETTING_DEPTH = 3
_BRACED = re.compile(r"\s*\{([^{}]*)\}\s*")
NOTHING = "nothing was translated"
"""What follows from errors of a file."""


@dataclass(frozen=True)
class Given:
    """One command of a script, or one value of an XML file.

    ``arguments`` has None where only the script itself could compute the value; it is None as a whole if the
    command cannot be read.
    """

    line: int
    command: str
    arguments: tuple[str | None, ...] | None


def read_settings(path: Path) -> list[Given]:
    """The commands and values of a file, in order.

    Raises:
        InputError: the file cannot be read, or is none of the three kinds.
        ConfigErrors: its syntax is wrong.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} must be a script (.tcl, .py) or a configuration (.xml) of HammerDB")
    try:
        text = read_text(path)
    except ValueError as error:
        raise InputError(str(error)) from None
    try:
        return reader(text)
    except Unclosed as error:
        problem = Problem("the script", f"a {error.mark} is not closed", error.line)
    except SyntaxError as error:
        problem = Problem("the script", "is not valid Python", error.lineno)
    except (RecursionError, MemoryError):
        problem = Problem("the script", "is nested too deep")
    except expat.ExpatError as error:
        problem = Problem("the file", f"is not valid XML ({expat.ErrorString(error.code)})", error.lineno)
    raise ConfigErrors(str(path), [problem], NOTHING)


def _of_tcl(text: str) -> list[Given]:
    return [Given(one.line, one.words[0] or "a computed command", one.words[1:]) for one in commands(text)]


def _of_python(text: str) -> list[Given]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return [_python_statement(one) for one in tree.body]


def _python_statement(node: ast.stmt) -> Given:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return Given(node.lineno, type(node).__name__.lower(), (ast.unparse(node),))
    if call.keywords or any(isinstance(one, ast.Starred) for one in call.args):
        return Given(node.lineno, call.func.id, None)
    return Given(node.lineno, call.func.id, tuple(map(_python_value, call.args)))


def _python_value(node: ast.expr) -> str | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _python_value(node.operand)
        return None if number is None else f"-{number}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _one_word(node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return str(node.value).lower() if isinstance(node.value, bool) else str(node.value)
    return None


def _one_word(text: str) -> str:
    """A text as HammerDB gets it: its Python functions pass their arguments on to Tcl, where braces only quote."""
    braced = _BRACED.fullmatch(text)
    return braced[1] if braced else text


def _of_xml(text: str) -> list[Given]:
    reader = _XmlReader()
    parser = expat.ParserCreate("utf-8")  # whatever it declares: it was decoded
    parser.StartElementHandler = lambda name, _: reader.start(name, parser.CurrentLineNumber)
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.Parse(text.encode(), True)
    return reader.found


class _XmlReader:
    """Collects the values of elements: ``dbset`` from the root, ``diset`` from each element with a value."""

    def __init__(self) -> None:
        self.found: list[Given] = []
        self._path: list[str] = []
        self._text = ""
        self._line = 0
        self._leaf = False

    def start(self, name: str, line: int) -> None:
        """An element begins."""
        if not self._path:
            self.found.append(Given(line, "root", (name,)))
        self._path.append(name)
        self._text, self._line, self._leaf = "", line, True

    def text(self, text: str) -> None:
        """A part of an element's text."""
        self._text += text

    def end(self, name: str) -> None:
        """An element ends."""
        if self._leaf and len(self._path) >= _SETTING_DEPTH:
            self.found.append(Given(self._line, "diset", (self._path[1], name, self._text.strip())))
        self._path.pop()
        self._leaf = False

    @staticmethod
    def doctype(*_: object) -> None:
        """A document type may define entities that grow without limit."""
        raise InputError("an XML file with a document type (DOCTYPE) is not accepted; remove it")


_READERS: dict[str, Callable[[str], list[Given]]] = {".tcl": _of_tcl, ".py": _of_python, ".xml": _of_xml}
