"""The settings in a file of HammerDB: a script in Tcl, Python or a shell, or an XML file. Nothing is executed.

A variable that a script sets to a constant is followed. Of a shell script its here-documents are read.

Rules of Tcl from the manual page Tcl(n): commands end at a newline or semicolon, braces quote without substitution, a
backslash before a newline is a space. A word has no constant value if it has a command substitution, or a variable
that is not set to a constant before.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text

_SETTING_DEPTH = 3
_BRACED = re.compile(r"\s*\{([^{}]*)\}\s*")
_HERE_DOCUMENT = re.compile(r"<<-?\s*(?P<quote>['\"\\]?)(?P<end>\w+)")
_SHELL_LOOP = re.compile(r"\s*for\s+(?P<name>\w+)\s+in\s+(?P<counts>\d+(?:\s+\d+)*)\s*(?:;|$)")
_SHELL_VALUE = re.compile(
    r"\s*(?:export\s+)?(?P<name>\w+)=(?:(?P<plain>[\w./:@-]*)|'(?P<single>[^']*)'|\"(?P<double>[^\"$`\\]*)\")\s*(?:[;#]|$)"
)
_PYTHON_CALL = re.compile(r"^\s*dbset\s*\(", re.MULTILINE)
_BETWEEN = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n[ \t]*)+")
_COMMENT = re.compile(r"#(?:\\[\s\S]|[^\\\n])*\\?")
_BRACE = re.compile(r"\\[\s\S]|[{}]")
_ESCAPED = re.compile(r"\\([\s\S])")
_CONTROL = {"n": "\n", "t": "\t"}
_VARIABLE = re.compile(r"\$(?:(\w+)(?!\w|\(|::)|\{(\w+)\})")
_NAME = re.compile(r"(?<!\$)(?<!\$\{)\b\w+")
"""A word that may name a variable: not one whose value is taken."""
_CHANGES_NOTHING = frozenset({"dbset", "diset", "giset", "print", "puts", "tcset", "vuset"})
"""Commands whose words name no variable."""
NOTHING = "nothing was translated"
"""What follows from errors of a file."""


@dataclass(frozen=True)
class _Command:
    """One command of Tcl: its line, counted from 1, and its words; None is a word that only Tcl could compute."""

    line: int
    words: tuple[str | None, ...]


class Unclosed(ValueError):
    """A brace, bracket or quotation mark that is not closed."""

    def __init__(self, line: int, mark: str) -> None:
        super().__init__(line, mark)
        self.line, self.mark = line, mark


@dataclass(frozen=True)
class ReadCommand:
    """One command of a script, or one value of an XML file.

    ``arguments`` has None where only the script itself could compute the value; it is None as a whole if the
    command cannot be read.
    """

    line: int
    command: str
    arguments: tuple[str | None, ...] | None


def is_settings_file(path: Path) -> bool:
    """Whether a file is a script or a configuration by its name."""
    return path.suffix.lower() in _READERS


def read_settings(path: Path) -> list[ReadCommand]:
    """The commands and values of a file, in order.

    Raises:
        InputError: the file cannot be read, or is none of the three kinds.
        ConfigErrors: its syntax is wrong.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} must be a script (.tcl, .py, .sh) or a configuration (.xml) of HammerDB")
    try:
        text = read_text(path, "cp1252")
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


def _of_tcl(text: str) -> list[ReadCommand]:
    return [
        ReadCommand(one.line, one.words[0] or "a computed command", one.words[1:])
        for one in commands(text)
        if one.words[0] != "set" or None in one.words
    ]


def commands(text: str) -> list[_Command]:
    """The commands of a Tcl script, outside of braces. Raises :class:`Unclosed`."""
    found: list[_Command] = []
    known: dict[str, str] = {}
    words: list[str | None] = []
    at, began, line, counted = 0, 1, 1, 0
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        if text[at] in "\n;":
            found += [_noted(_Command(began, tuple(words)), known)] if words else []
            words, at = [], at + 1
        elif space := _BETWEEN.match(text, at):
            at = space.end()
        elif not words and (comment := _COMMENT.match(text, at)):
            at = comment.end()
        else:
            began = began if words else line
            word, at = _word(text, at, line, known)
            words.append(word)
    return [*found, _Command(began, tuple(words))] if words else found


def _noted(one: _Command, known: dict[str, str]) -> _Command:
    """``one``; the variable that it sets is known afterwards, and one that it may change otherwise is not."""
    match one.words:
        case ("set", str(name), str(value)):
            known[name] = value
        case (str(command), *_) if command in _CHANGES_NOTHING:
            pass
        case _:
            for name in {name for word in one.words if word for name in _NAME.findall(word)}:
                known.pop(name, None)
    return one


def _word(text: str, at: int, line: int, known: Mapping[str, str]) -> tuple[str | None, int]:
    """A word and the place after it."""
    if text[at] == "{":
        end = _brace_end(text, at, line)
        return text[at + 1 : end], end + 1
    quoted = text[at] == '"'
    at += quoted
    constant, parts, kept = True, [""], at
    while at < len(text) and not (text[at] == '"' if quoted else text[at] in " \t\r\n;\f\v"):
        if not quoted and text[at] == "\\" and _BETWEEN.match(text, at):
            break
        if (variable := _VARIABLE.match(text, at)) and (name := variable[1] or variable[2]) in known:
            parts += [_unescaped(text[kept:at]), known[name]]
            at = kept = variable.end()
            continue
        constant = constant and text[at] not in "$["
        at = _bracket_end(text, at, line) if text[at] == "[" else at + (2 if text[at] == "\\" else 1)
    if quoted and at >= len(text):
        raise Unclosed(line, "quotation mark")
    return ("".join(parts) + _unescaped(text[kept:at]) if constant else None), at + quoted


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda one: _CONTROL.get(one[1], one[1]), text)


def _brace_end(text: str, at: int, line: int) -> int:
    depth = 0
    for mark in _BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if not depth:
            return mark.start()
    raise Unclosed(line, "brace")


def _bracket_end(text: str, at: int, line: int) -> int:
    depth = 0
    for mark in re.compile(r"\\[\s\S]|[\[\]]").finditer(text, at):
        depth += {"[": 1, "]": -1}.get(mark[0], 0)
        if not depth:
            return mark.end()
    raise Unclosed(line, "bracket")


def _of_shell(text: str) -> list[ReadCommand]:
    """The commands of the here-documents, in Tcl or Python; the value of a shell's variable is put in place."""
    known: dict[str, str] = {}
    loops: dict[str, str] = {}
    lines: list[str] = []
    end, is_plain = "", False
    for line in text.split("\n"):
        if end:
            closes = line.strip() == end
            end = "" if closes else end
            lines.append("" if closes else line if is_plain else _of_here_document(line, known, loops))
            continue
        lines.append("")
        if found := _HERE_DOCUMENT.search(line):
            end, is_plain = found["end"], bool(found["quote"])
        elif found := _SHELL_LOOP.match(line):
            known.pop(found["name"], None)
            loops[found["name"]] = found["counts"]
        elif found := _SHELL_VALUE.match(line):
            value = next(filter(None, found.group("plain", "single", "double")), "")
            known[found["name"]] = value
    inner = "\n".join(lines)
    return _of_python(inner) if _PYTHON_CALL.search(inner) else _of_tcl(inner)


def _of_here_document(line: str, known: Mapping[str, str], loops: Mapping[str, str]) -> str:
    """A line as the shell passes it on; one that sets the users of a loop becomes that loop."""
    for name, counts in loops.items():
        if re.search(rf"\bvuset\s+vu\s+\$\{{?{name}\b", line):
            return f"foreach {name} {{{counts}}} {{{line}}}"
    line = re.sub(r"(?<!\\)\$(?:(\w+)|\{(\w+)\})", lambda one: known.get(one[1] or one[2], one[0]), line)
    return re.sub(r"\\([$`\\])", r"\1", line)


def _of_python(text: str) -> list[ReadCommand]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    known: dict[str, ast.expr] = {}
    found = []
    for one in tree.body:
        match one:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant() | ast.List() | ast.Tuple() as value):
                known[name] = value
            case _:
                found.append(_python_statement(_with_values(one, known)))
                for inner in ast.walk(one):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        known.pop(inner.id, None)
    return found


def _with_values(node: ast.stmt, known: Mapping[str, ast.expr]) -> ast.stmt:
    """A call or a loop with the values of the variables in its arguments, or in what it loops over."""
    match node:
        case ast.Expr(ast.Call() as call):
            call.args = [known.get(one.id, one) if isinstance(one, ast.Name) else one for one in call.args]
        case ast.For(iter=ast.Name(name)):
            node.iter = known.get(name, node.iter)
    return node


def _python_statement(node: ast.stmt) -> ReadCommand:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return ReadCommand(node.lineno, type(node).__name__.lower(), (ast.unparse(node),))
    if call.keywords or any(isinstance(one, ast.Starred) for one in call.args):
        return ReadCommand(node.lineno, call.func.id, None)
    return ReadCommand(node.lineno, call.func.id, tuple(map(_python_value, call.args)))


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


def _of_xml(text: str) -> list[ReadCommand]:
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
        self.found: list[ReadCommand] = []
        self._path: list[str] = []
        self._text = ""
        self._line = 0
        self._leaf = False

    def start(self, name: str, line: int) -> None:
        """An element begins."""
        if not self._path:
            self.found.append(ReadCommand(line, "root", (name,)))
        self._path.append(name)
        self._text, self._line, self._leaf = "", line, True

    def text(self, text: str) -> None:
        """A part of an element's text."""
        self._text += text

    def end(self, name: str) -> None:
        """An element ends."""
        if self._leaf and len(self._path) >= _SETTING_DEPTH:
            self.found.append(ReadCommand(self._line, "diset", (self._path[1], name, self._text.strip())))
        self._path.pop()
        self._leaf = False

    @staticmethod
    def doctype(*_: object) -> None:
        """A document type may define entities that grow without limit."""
        raise InputError("an XML file with a document type (DOCTYPE) is not accepted; remove it")


_READERS: dict[str, Callable[[str], list[ReadCommand]]] = {
    ".tcl": _of_tcl,
    ".py": _of_python,
    ".sh": _of_shell,
    ".xml": _of_xml,
}
