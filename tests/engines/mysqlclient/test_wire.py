"""A call over a driver's socket: an answer in any number of packets is read completely; errors are reported."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("MySQLdb")

from MySQLdb import Error
from MySQLdb.constants import FIELD_TYPE

from hdbkit.contracts import PENDING
from hdbkit.databases._mysqlclient.wire import Call, Wire, answer_of

Pair = tuple[Wire, socket.socket, socket.socket]
CALL = Call.of(b"CALL one(@a, @b);SELECT @a, @b")
LONG = "x" * 300


def packets(*payloads: bytes) -> bytes:
    numbered = enumerate(payloads, 1)
    return b"".join(len(payload).to_bytes(3, "little") + bytes([number]) + payload for number, payload in numbered)


def text(value: str) -> bytes:
    size = len(value)
    return (bytes([size]) if size < 0xFB else b"\xfc" + size.to_bytes(2, "little")) + value.encode()


def column(name: str, kind: int) -> bytes:
    head = b"".join(map(text, ("def", "", "", "", name, "")))
    return head + b"\x0c\x2d\0\x05\0\0\0" + bytes([kind]) + b"\0\0\0\0\0"


DONE, END = b"\0\0\0\x0a\0\0\0", b"\xfe\0\0\x02\0"
COLUMNS = (b"\x02", column("number", FIELD_TYPE.LONGLONG), column("words", FIELD_TYPE.LONG_BLOB), END)
ANSWER = packets(DONE, *COLUMNS, text("42") + text(LONG), END)
REFUSAL = packets(b"\xff" + (1213).to_bytes(2, "little") + b"#40001Deadlock found")


class Driver:
    """What the wire asks of a driver's connection."""

    client_flag = 0

    def __init__(self, end: socket.socket) -> None:
        self.fileno = end.fileno


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A wire over TCP, the driver's hold on it, and the server's end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, _ = listening.accept()
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire = Wire(Driver(near))
    wire._socket.settimeout(20)  # what waits for ever fails
    yield wire, near, far
    wire.close()
    near.close()
    far.close()


def test_an_answer_is_whole_wherever_it_is_cut(pair: Pair) -> None:
    wire, _, far = pair
    cuts = [*range(1, 30), ANSWER.index(END) + len(END), *range(len(ANSWER) - 20, len(ANSWER))]
    with ThreadPoolExecutor() as pool:
        for cut in cuts:
            asking = pool.submit(wire.asked, CALL)
            assert far.recv(100) == CALL
            for piece in (ANSWER[:cut], ANSWER[cut:]):
                far.sendall(piece)
                time.sleep(0.001)
            assert asking.result() == ANSWER


def test_an_answer_is_received_in_any_pieces_without_waiting(pair: Pair) -> None:
    wire, near, far = pair
    wire._socket.settimeout(None)
    for cut in (5, 11, 30, len(ANSWER) - 3):
        wire.send(CALL)
        assert wire.received() is PENDING
        assert far.recv(100) == CALL
        far.sendall(ANSWER[:cut])
        time.sleep(0.001)
        assert wire.received() is PENDING
        far.sendall(ANSWER[cut:])
        assert select.select([near], [], [], 10)[0] == [near], "the rest is announced, however short it is"
        assert wire.received() == ANSWER


@pytest.mark.parametrize("reported", [REFUSAL, packets(DONE) + REFUSAL], ids=["of the call", "of what is behind it"])
def test_a_refusal_is_received_with_its_number(pair: Pair, reported: bytes) -> None:
    wire, near, far = pair
    wire.send(CALL)
    far.sendall(reported)
    assert select.select([near], [], [], 10)[0] == [near]
    with pytest.raises(Error) as met:
        wire.received()
    assert met.value.args == (1213, "Deadlock found")
    far.close()
    with pytest.raises(Error) as met:
        wire.received()
    assert met.value.args[0] == 2013


def test_an_answers_texts_and_nulls_are_read_by_the_columns_types() -> None:
    assert answer_of(ANSWER) == ("number", [(42, LONG)])
    assert answer_of(packets(DONE, *COLUMNS, b"\xfb\xfb", END)) == ("number", [(None, None)])
    assert answer_of(packets(DONE, *COLUMNS, END)) == ("number", [])


@pytest.mark.parametrize("reported", [REFUSAL, packets(DONE) + REFUSAL], ids=["of the call", "of what is behind it"])
def test_a_refusal_has_its_number_and_words(pair: Pair, reported: bytes) -> None:
    wire, _, far = pair
    far.sendall(reported)
    with pytest.raises(Error) as met:
        wire.asked(CALL)
    assert met.value.args == (1213, "Deadlock found")


def test_an_end_of_the_connection_is_a_lost_one(pair: Pair) -> None:
    wire, _, far = pair
    far.sendall(ANSWER[:40])
    far.close()
    for _ in range(2):
        with pytest.raises(Error) as met:
            wire.asked(CALL)
        assert met.value.args[0] == 2013


def test_the_end_of_a_call_wakes_no_one_until_the_driver_has_the_socket_back(pair: Pair) -> None:
    wire, near, far = pair
    far.sendall(ANSWER)
    assert wire.asked(CALL) == ANSWER
    far.sendall(packets(DONE))
    assert select.select([near], [], [], 0.1)[0] == []
    wire.leave()
    assert select.select([near], [], [], 10)[0] == [near]
