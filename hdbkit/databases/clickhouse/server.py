"""The process that has a ClickHouse database open: sessions of this account connect to it by a socket of Linux.

chdb lets one process open a folder, and works in no process that was forked after its import. So the first session
starts this program, and each has a thread of it. It ends when it has had no session for a second.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

IDLE_S = 1.0


def serve_folder(folder: str, name: str) -> None:
    """Serve a folder at an abstract address, in a process of its own; return at once if another process does."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0{name}")
    except OSError:
        return
    listener.listen(128)
    if os.fork():
        return
    os.setsid()
    try:
        _serve(folder, listener)
    finally:
        os._exit(0)


def _serve(folder: str, listener: socket.socket) -> None:
    from chdb import dbapi

    database = f"{folder}?config-file={Path(__file__).with_name('defaults.xml')}"
    kept, problem = None, ""
    try:
        kept = dbapi.connect(database)
    except Exception as error:  # each session is given it
        problem = str(error)
    listener.settimeout(IDLE_S)
    threads: list[threading.Thread] = []
    while True:
        threads = [one for one in threads if one.is_alive()]
        try:
            opened, _ = listener.accept()
        except TimeoutError:
            if threads:
                continue
            break
        if account_of(opened) == os.getuid():
            opened.settimeout(None)
            threads.append(threading.Thread(target=_answer, args=(database, problem, Connection(opened.detach()))))
            threads[-1].start()
    listener.close()
    if kept is not None:
        kept.close()


def account_of(opened: socket.socket) -> int:
    """The account of the process at the other end."""
    return int.from_bytes(opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)


def _answer(database: str, problem: str, session: Connection) -> None:
    """Run the commands of a session: each is a text with values, and is answered by columns and rows, or a text."""
    from chdb import dbapi

    session.send(problem)
    try:
        opened: Any = None if problem else dbapi.connect(database)
        while opened:
            session.send(_run(opened.cursor(), *session.recv()))
    except (EOFError, OSError):
        pass
    finally:
        session.close()
        if opened:
            opened.close()


def _run(cursor: Any, text: str, values: Any) -> tuple[Any, Any] | str:
    try:
        cursor.execute(text, values)
        return cursor.description, cursor.fetchall()
    except Exception as error:
        return str(error)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(mode=0o700, exist_ok=True)
    serve_folder(sys.argv[1], sys.argv[2])
