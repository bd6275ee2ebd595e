"""A routine's call over the driver's own socket: one packet out, one sleep, one answer, which stays bytes.

Behind a call the caches are cold, so that all that a driver does with an answer is felt (``bench/README.md``), and a
sleep more even more so. A CALL that answers nothing is sent with a SELECT of what it left in variables. The server
tells the end of the CALL ahead of the row, in a packet of its own, and the kernel is asked not to wake us for that.

The text form of answers: https://mariadb.com/kb/en/result-set-packets/. Integers are little-endian.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import islice
from typing import Any

from MySQLdb import Error
from MySQLdb.constants import CLIENT

from hdbkit.contracts import Row
from hdbkit.databases._mysqlclient_values import CONVERTERS

_WAKE_AT = socket.SOL_SOCKET, socket.SO_RCVLOWAT
_ANYTHING, _BEYOND_AN_END = 1, 12
"""Bytes to be woken at: the end of a CALL is told in 11, a refusal in 13 and more."""
_MAX_BYTES = 1 << 14
_HEAD = 4
"""Bytes ahead of each packet: three of its length, one of its number."""
_QUERY = b"\x03"
_REFUSED, _END, _NULL = 0xFF, 0xFE, 0xFB
_LAST_HEAD = b"\x05\0\0"
_COLUMNS_AT, _BEHIND_COLUMNS = 15, 5
"""Where the number of columns stands, usually, and by how much the number of the packet that ends the row is more."""
_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
"""Of a text that is not short: by its first byte, how many bytes tell its length."""
_OTHERWISE = CLIENT.SSL | CLIENT.COMPRESS | 1 << 24  # CLIENT_DEPRECATE_EOF, which the driver's list lacks
_LOST, _LOST_WORDS = 2013, "the server ended the connection during a call"


class Call(bytes):
    """A CALL that answers nothing, and behind it a SELECT of one row, as the packet that is sent."""

    __slots__ = ()

    @classmethod
    def of(cls, text: bytes) -> Call:
        """The packet of a text of less than 16 MB."""
        return cls(b"%b\0%b%b" % ((len(text) + 1).to_bytes(3, "little"), _QUERY, text))


class Wire:
    """The socket of a connection that is neither encrypted nor compressed, and on which the driver is at rest."""

    def __init__(self, connection: Any) -> None:
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._send, self._receive = self._socket.sendall, self._socket.recv
        self._sleeps = False

    def asked(self, call: Call) -> bytes:
        """The whole answer to a call.

        Raises the driver's error: the server refused, or ended the connection. Anything else that is raised leaves an
        answer behind, so that the connection must be closed.
        """
        try:
            if not self._sleeps:
                self._socket.setsockopt(*_WAKE_AT, _BEYOND_AN_END)
                self._sleeps = True
            self._send(call)
            answer = self._receive(_MAX_BYTES)
            if answer[-9:-6] != _LAST_HEAD or answer[-6] != answer[_COLUMNS_AT] + _BEHIND_COLUMNS:
                answer = self._whole(answer)
        except OSError as error:
            raise Error(_LOST, str(error)) from None
        return answer

    def leave(self) -> None:
        """Let the driver have the socket as it expects it."""
        if self._sleeps:
            self._sleeps = False
            self._socket.setsockopt(*_WAKE_AT, _ANYTHING)

    def close(self) -> None:
        """Give up the hold on the socket."""
        self._sleeps = False
        self._socket.close()

    def _whole(self, answer: bytes) -> bytes:
        """An answer that came in pieces, the last of which may be short, or is not as usual, such as a refusal."""
        self.leave()
        while not _is_whole(answer):
            for packet in _packets(answer):
                if packet[0] == _REFUSED:
                    raise Error(int.from_bytes(packet[1:3], "little"), packet[9:].decode("utf-8", "replace"))
            more = self._receive(_MAX_BYTES)
            if not more:
                raise Error(_LOST, _LOST_WORDS)
            answer += more
        return answer


def wire(connection: Any) -> Wire | None:
    """The socket of a driver's connection; none where bytes are not sent as they are, or ends are told otherwise."""
    return None if connection.client_flag & _OTHERWISE else Wire(connection)


def answer_of(raw: bytes) -> tuple[str, list[Row]]:
    """The name of the first column and the rows of an answer."""
    packets = islice(_packets(raw), 1, None)
    columns = [next(packets) for _ in range(next(packets)[0])]
    readers = [CONVERTERS.get(column[-6], str) for column in columns]
    rows = []
    for packet in packets:
        if packet[0] != _END:
            values = zip(readers, _texts(packet), strict=True)
            rows.append(tuple(value if value is None else reader(value) for reader, value in values))
    return next(islice(_texts(columns[0]), 4, None)) or "", rows


def _is_whole(answer: bytes) -> bool:
    """Whether the end of the row is there: the second packet of an end, the first being that of the columns."""
    at, last, ends = 0, len(answer) - _HEAD, 0
    while at < last:
        size = answer[at] | answer[at + 1] << 8 | answer[at + 2] << 16
        if answer[at + _HEAD] == _END and size < 9:
            ends += 1
        at += _HEAD + size
    return ends == 2 and at == len(answer)


def _packets(answer: bytes) -> Iterator[bytes]:
    """The whole packets of an answer, without their heads."""
    at = 0
    while (start := at + _HEAD) < len(answer):
        at = start + int.from_bytes(answer[start - _HEAD : start - 1], "little")
        if at <= len(answer):
            yield answer[start:at]


def _texts(packet: bytes) -> Iterator[str | None]:
    """The texts of a packet, each behind its length; what follows those of a column is no text."""
    at = 0
    while at < len(packet):
        size = packet[at]
        at += 1
        if size == _NULL:
            yield None
            continue
        if digits := _LENGTHS.get(size, 0):
            size = int.from_bytes(packet[at : at + digits], "little")
            at += digits
        yield packet[at : at + size].decode()
        at += size
