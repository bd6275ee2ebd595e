"""Programs of hdbkit as forks of a process that has imported their modules, where the import is not the subject.

A new interpreter imports for one or two seconds before it does what the test is about. A fork has the command line,
environment, working folder, file descriptors, signals, session and parent that :class:`subprocess.Popen` gives; only
the modules are there already. Tests with the marker ``new_interpreters`` start the programs as users do.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hdbkit.config import sweep_spec
from hdbkit.processes import ONE_THREAD
from tests import generated

PROGRAMS = (
    "hdbkit.execution.supervisor", "hdbkit.build.loader", "hdbkit.api.sweep_process", "hdbkit.agent", "hdbkit.cli",
    "hdbkit.service", "hdbkit.service.job_process",
)  # fmt: skip
"""A Python program is forked if its text imports from one of these."""
STARTERS = ("hdbkit.api.sweep_process", "hdbkit.cli", "hdbkit.service")
"""These start programs themselves, in sessions of their own, which are forks too."""
IMPORTED_LATER = (
    "hdbkit.agent.app", "hdbkit.service.app", "hdbkit.execution.finish", "hdbkit.workloads.tproc_c.user",
    "pyarrow.dataset", "pyarrow.pandas_compat", "plotly.graph_objects", "psycopg", "MySQLdb",
    "scipy.special", "uvicorn",
)  # fmt: skip
"""What the programs import while they work."""
_LONGEST_COMMAND, _LONGEST_REQUEST, _MOST_FDS = 4096, 1 << 17, 100
_HIGH_FD = 500
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_CHILD_SUBREAPER = 36
_COMMAND_START = 45
"""The place of the address of the command line in ``/proc/PID/stat``, counted after the process name."""


class Forked(subprocess.Popen[Any]):
    """A process that is forked if it is one of ``PROGRAMS``, and started as ever otherwise."""

    def _execute_child(self, args: Any, *how: Any) -> None:
        if not _is_forked(args, how):
            super()._execute_child(args, *how)  # type: ignore[misc]
            return
        pass_fds, folder, environment, streams = how[3], how[4], how[5], how[9:15]
        numbers = {0: streams[0], 1: streams[3], 2: streams[5], **{fd: fd for fd in pass_fds}}
        numbers = {number: fd for number, fd in numbers.items() if fd != -1}
        request = {
            "command": [os.fspath(word) for word in args],
            "environment": dict(os.environ if environment is None else environment),
            "folder": os.fspath(folder or Path.cwd()),
            "mask": [int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "session": how[20],
            "group": how[21],
            "numbers": list(numbers),
        }
        try:
            with _signals_later():
                self.pid = _source.ask(json.dumps(request).encode(), list(numbers.values()))
            self._child_created = True
        finally:
            self._close_pipe_fds(*streams)  # type: ignore[attr-defined]


@contextmanager
def _signals_later() -> Iterator[None]:
    """Have signals arrive when the caller knows its process: a fork takes longer than what no signal interrupts."""
    came: list[int] = []
    own = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _INTERRUPTS if own and callable(signal.getsignal(number))]
    handlers = {number: signal.signal(number, lambda one, _: came.append(one)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            threading.Timer(0.05, os.kill, (os.getpid(), number)).start()


class Source:
    """The process that forks for the process ``serves``: it starts with the first request and ends with that one.

    No other process may ask: only an ancestor of the forks can become their parent.
    """

    def __init__(self, connection: socket.socket | None = None) -> None:
        self.serves = os.getpid()
        self._connection, self._lock = connection, threading.Lock()

    def ask(self, request: bytes, fds: list[int]) -> int:
        """The id of a new fork, which is our child: the process between it and the source has ended."""
        libc = ctypes.CDLL(None)
        with self._lock:
            self._connection = self._connection or _started()
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._connection, [request], fds)
                return int(self._connection.recv(100))
            finally:
                libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


_source = Source()

os.fsync = lambda _: None  # type: ignore[assignment]  # tests kill processes, of which the kernel keeps all, not hosts
sweep_spec.REST_S = 0.0  # sweeps wait for no idle host, unless they give cooldown_s
generated.keep()


def _started() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = f"from tests.forked import ended_at_once, serve\nwith ended_at_once(): exec(serve({theirs.fileno()}))"
    with theirs:
        subprocess.Popen(
            [sys.executable, "-c", program, " " * _LONGEST_COMMAND],  # room for the command lines of the forks
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=[theirs.fileno()],
        ).returncode = 0  # nobody waits for it
    return ours


def _is_forked(args: Any, how: tuple[Any, ...]) -> bool:
    ours = isinstance(args, list) and args[0] == sys.executable and args[1:3].count("-c") == 1
    if not ours or os.getpid() != _source.serves:
        return False
    preexec_fn, gid, gids, uid = how[1], *how[16:19]
    program = args[args.index("-c") + 1]
    others = preexec_fn is not None or gids is not None or {gid, uid} - {-1, None}
    return not others and any(f"from {one} import" in program for one in PROGRAMS)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """End the process as Python does, but for the removal of all modules, which copies what a fork shares: 0.4 s.

    An uncaught error, and output that cannot be written, end it the usual way.
    """
    code = 0
    try:
        yield
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads and executors
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        raise SystemExit(code) from None
    os._exit(code)


def serve(number: int) -> str:
    """Import all, and fork until the tests end; a fork returns the text of its program."""
    for module in (*PROGRAMS, *IMPORTED_LATER):
        with suppress(ImportError):  # a driver that is not installed
            importlib.import_module(module)
    gc.freeze()  # a fork collects what is its own
    requests = socket.socket(fileno=os.dup2(number, _HIGH_FD, inheritable=False))
    os.close(number)
    return _fork_on_request(requests)


def _fork_on_request(requests: socket.socket) -> str:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        text, fds, _, _ = socket.recv_fds(requests, _LONGEST_REQUEST, _MOST_FDS)
        if not text:
            os._exit(0)
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == between:
                time.sleep(0.001)
            program = _become(json.loads(text), fds)
            requests.send(str(os.getpid()).encode())
            requests.close()
            return _with_a_source(program) if any(one in program for one in STARTERS) else program
        for fd in fds:
            os.close(fd)
        os.waitpid(between, 0)


def _with_a_source(program: str) -> str:
    """Leave a copy of this process, from which its own programs are forked."""
    global _source  # noqa: PLW0603
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        _show(["source"])
        return _fork_on_request(theirs)
    theirs.close()
    _source = Source(ours)
    subprocess.Popen = Forked  # type: ignore[misc]
    return program


def _become(request: dict[str, Any], fds: list[int]) -> str:
    """Take over what was asked for, and return the text of the program."""
    moved = [os.dup2(fd, _HIGH_FD + 1 + at, inheritable=False) for at, fd in enumerate(fds)]
    for fd in fds:
        os.close(fd)
    for fd, number in zip(moved, request["numbers"], strict=True):
        os.dup2(fd, number)
        os.close(fd)
    if request["session"]:
        os.setsid()
    elif request["group"] not in (-1, None):
        os.setpgid(0, request["group"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    command = request["command"]
    _show(command)
    program = command.index("-c") + 1
    sys.argv[:] = ["-c", *command[program + 1 :]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit.register(gc.unfreeze)
    signal.pthread_sigmask(signal.SIG_SETMASK, request["mask"])
    return str(command[program])


def _show(command: list[str]) -> None:
    """Replace the command line of this process."""
    line = b"\0".join(word.encode() for word in command) + b"\0"
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = (int(one) for one in fields[_COMMAND_START : _COMMAND_START + 2])
    ctypes.memmove(start, line.ljust(end - start, b"\0"), end - start)
