"""Calls of routines over the driver's own socket: one packet out, one wake-up, one answer, which stays bytes.

After a call, CPU caches are cold, so that work of the driver on the answer is expensive (``bench/README.md``), and an
additional wake-up even more so. A CALL without a result set is sent together with a SELECT of the variables that it
sets. The server sends the end of the CALL in its own packet before the row; the kernel does not wake the client for
it.

The text protocol of results: https://mariadb.com/kb/en/result-set-packets/. Integers are little-endian.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import islice
from typing import Any

from MySQLdb import Error
from MySQLdb.constants import CLIENT

from hdbkit.contracts import PENDING, Row
from hdbkit.databases._mysqlclient.connect import converters

_CONVERTERS = converters()
_WAKE_AT = socket.SOL_SOCKET, socket.SO_RCVLOWAT
_ANYTHING, _BEYOND_AN_END = 1, 12
"""Minimum bytes for a wake-up: the end of a CALL has 11 bytes, an error 13 or more."""
_MAX_BYTES = 1 << 14
_HEAD = 4
"""Bytes of a packet header: three for its length, one for its number."""
_QUERY = b"\x03"
_ERROR, _END, _NULL = 0xFF, 0xFE, 0xFB
_LAST_HEAD = b"\x05\0\0"
_COLUMNS_AT, _BEHIND_COLUMNS = 15, 5
"""The usual position of the column count, and the difference between it and the number of the row's end packet."""
_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
"""For long texts: by the first byte, the number of bytes that hold the length."""
_OTHERWISE = CLIENT.SSL | CLIENT.COMPRESS | 1 << 24  # CLIENT_DEPRECATE_EOF, which the driver's list lacks
_LOST, _LOST_WORDS = 2013, "the server closed the connection during a call"


class Call(bytes):
    """A CALL without a result set, followed by a SELECT of one row, as one packet."""

    __slots__ = ()

    @classmethod
    def of(cls, text: bytes) -> Call:
        """The packet of a text shorter than 16 MB."""
        return cls(b"%b\0%b%b" % ((len(text) + 1).to_bytes(3, "little"), _QUERY, text))


class Wire:
    """The socket of a connection that is neither encrypted nor compressed, while the driver does not use it."""

    def __init__(self, connection: Any) -> None:
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._send, self._receive = self._socket.sendall, self._socket.recv
        self._sleeps = False
        self._answer = b""

    def asked(self, call: Call) -> bytes:
        """The whole answer to a call.

        Raises the driver's error if the call failed or the server closed the connection. After any other exception,
        an answer may be unread, so the connection must be closed.
        """
        try:
            if not self._sleeps:
                self._sleep()
            self._send(call)
            answer = self._receive(_MAX_BYTES)
            if answer[-9:-6] != _LAST_HEAD or answer[-6] != answer[_COLUMNS_AT] + _BEHIND_COLUMNS:
                answer = self._whole(answer)
        except OSError as error:
            raise Error(_LOST, str(error)) from None
        return answer

    def send(self, call: Call) -> None:
        """Send a call, whose answer is received later. Raises the driver's error if the connection is lost."""
        try:
            if not self._sleeps:
                self._sleep()
            self._send(call)
        except OSError as error:
            raise Error(_LOST, str(error)) from None
        self._answer = b""

    def received(self) -> bytes | object:
        """The whole answer to the call that was sent, or ``PENDING``; raises as ``asked`` does."""
        try:
            more = self._receive(_MAX_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return PENDING
        except OSError as error:
            raise Error(_LOST, str(error)) from None
        if not more:
            raise Error(_LOST, _LOST_WORDS)
        self._answer += more
        if _is_whole(self._answer):
            return self._answer
        self.leave()  # the rest may be shorter than the end of a call
        _raise_refusal(self._answer)
        return PENDING

    def _sleep(self) -> None:
        self._socket.setsockopt(*_WAKE_AT, _BEYOND_AN_END)
        self._sleeps = True

    def leave(self) -> None:
        """Restore the socket options that the driver expects."""
        if self._sleeps:
            self._sleeps = False
            self._socket.setsockopt(*_WAKE_AT, _ANYTHING)

    def close(self) -> None:
        """Close this handle of the socket."""
        self._sleeps = False
        self._socket.close()

    def _whole(self, answer: bytes) -> bytes:
        """Read the rest of an answer that came in several pieces or has another form, such as an error."""
        self.leave()
        while not _is_whole(answer):
            _raise_refusal(answer)
            more = self._receive(_MAX_BYTES)
            if not more:
                raise Error(_LOST, _LOST_WORDS)
            answer += more
        return answer


def wire(connection: Any) -> Wire | None:
    """The socket of a driver's connection; None if encrypted, compressed, or with other end packets."""
    return None if connection.client_flag & _OTHERWISE else Wire(connection)


def answer_of(raw: bytes) -> tuple[str, list[Row]]:
    """The name of the first column and the rows of an answer."""
    packets = islice(_packets(raw), 1, None)
    columns = [next(packets) for _ in range(next(packets)[0])]
    readers = [_CONVERTERS.get(column[-6], str) for column in columns]
    rows = []
    for packet in packets:
        if packet[0] != _END:
            values = zip(readers, _texts(packet), strict=True)
            rows.append(tuple(value if value is None else reader(value) for reader, value in values))
    return next(islice(_texts(columns[0]), 4, None)) or "", rows


def _raise_refusal(answer: bytes) -> None:
    """Raise the error that the server sent, if it is among the packets."""
    for packet in _packets(answer):
        if packet[0] == _ERROR:
            raise Error(int.from_bytes(packet[1:3], "little"), packet[9:].decode("utf-8", "replace"))


def _is_whole(answer: bytes) -> bool:
    """Whether the answer is complete: it has two end packets, of the columns and of the rows."""
    at, last, ends = 0, len(answer) - _HEAD, 0
    while at < last:
        size = answer[at] | answer[at + 1] << 8 | answer[at + 2] << 16
        if answer[at + _HEAD] == _END and size < 9:
            ends += 1
        at += _HEAD + size
    return ends == 2 and at == len(answer)


def _packets(answer: bytes) -> Iterator[bytes]:
    """The complete packets of an answer, without headers."""
    at = 0
    while (start := at + _HEAD) < len(answer):
        at = start + int.from_bytes(answer[start - _HEAD : start - 1], "little")
        if at <= len(answer):
            yield answer[start:at]


def _texts(packet: bytes) -> Iterator[str | None]:
    """The length-prefixed texts of a packet. After the texts of a column packet, other data follows."""
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
