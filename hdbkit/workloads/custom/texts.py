"""What is wrong with a statement of a user-defined workload, as the engines read it that may execute it.

A folder is read before an engine is chosen: then it has the errors that every one of these engines sees. Before the
statements are sent, they are read once more by the rules of the one engine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hdbkit.config.problems import did_you_mean
from hdbkit.config.specs.definition_problems import OF_BUILD
from hdbkit.lexer import Lexer
from hdbkit.statement import Statement

OTHERS: Final = ("create_", "index_", "load_", "check_", "key_", "count_")
"""What the names of statements begin with that are not of an operation."""
# looser than those of hdbkit.sql, so that a misspelt name is found rather than sent to the server
_VALUE: Final = re.compile(r"(?<![:\w\\]):([A-Za-z_]\w*)")
_WORD: Final = re.compile(r"(?<!\\)\{([A-Za-z_]\w*)\}")
_WORD_OF_TRANSACTION: Final = r"(?:\s+(?:WORK|TRAN|TRANSACTION))?\s*"
_TRANSACTION: Final = re.compile(
    rf"^\s*((?:BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT){_WORD_OF_TRANSACTION})(?:;|$)"
    rf"|;\s*((?:COMMIT|ROLLBACK){_WORD_OF_TRANSACTION})$",
    re.IGNORECASE,
)
"""A command that begins or ends a transaction. Of a block, neither BEGIN nor END stands alone."""


class Names(NamedTuple):
    """The names that the statements of a folder may use."""

    variables: Collection[str]
    parameters: Collection[str]
    of_operations: Collection[str]
    """The statements that operations execute."""
    counter: str | None = None

    def is_used(self, statement: str) -> bool:
        """Whether an operation, the metric, the build or a check executes a statement."""
        return statement in self.of_operations or statement == self.counter or statement.startswith(OTHERS)


def unended(statement: Statement, lexers: Sequence[Lexer]) -> Iterator[str]:
    """What is wrong with a text whatever its names mean: a character that no server takes, a text without its end."""
    if "\0" in statement.text:
        yield "has a character NUL, which ends a text; remove it"
    ends = [lexer.open_end(statement.text) for lexer in lexers]
    if ends[0] and all(ends):
        line, mark = ends[0]
        yield f"what begins with {mark} in line {line + 1} of the statement has no end"


def text_problems(statement: Statement, names: Names, lexers: Sequence[Lexer]) -> Iterator[str]:
    """What is wrong with a text for each of the lexers."""
    yield from unended(statement, lexers)
    read = [[*_problems(replace(statement, lexer=lexer), names)] for lexer in lexers]
    yield from (what for what in dict.fromkeys(read[0]) if all(what in others for others in read))


def _problems(statement: Statement, names: Names) -> Iterator[str]:
    of_operation = statement.name in names.of_operations
    for value in dict.fromkeys(_VALUE.findall(statement.code)):
        if of_operation and value not in names.variables:
            similar = did_you_mean(value.lower(), list(names.variables)) or f" For a plain colon, write \\:{value}"
            yield f":{value} is not a variable.{similar}"
        if not of_operation and names.is_used(statement.name):
            yield f":{value} has no value; only statements of operations have variables"
    of_build = OF_BUILD if statement.name.startswith("create_") else set()
    for word in sorted({*_WORD.findall(statement.code)} - {*names.parameters} - of_build):
        similar = did_you_mean(word.lower(), list(names.parameters)) or f" For plain braces, write \\{{{word}}}"
        yield f"{{{word}}} is not a parameter.{similar}"
    if of_operation and (ends := _TRANSACTION.search(statement.code)):
        command = " ".join((ends[1] or ends[2]).split()).upper()
        yield f"{command} is sent by hdbkit, since an operation is one transaction; remove it"
