"""A Jupyter kernel that executes several notebooks one after the other: it takes 5 s of a processor to start one.

nbclient and nbformat take 2 s to import, so only a process that starts a kernel imports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.architecture.source_tree import ROOT

if TYPE_CHECKING:
    from nbclient import NotebookClient
    from nbformat import NotebookNode

FORK = "from tests import warm\nwarm.keep()"
"""Has a kernel fork the programs of hdbkit; the tests must be on its path."""
_RESET = "%reset -f\n__spec__ = None"
"""Forgets the names of the notebook before; a module ``__main__`` without ``__spec__`` cannot start processes."""


def new_notebook(*cells: str) -> NotebookNode:
    """A notebook of code cells."""
    from nbformat import v4

    return v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])


class Kernel:
    """A kernel that runs."""

    def __init__(self, manager: KernelManager, notebooks: NotebookClient) -> None:
        self._manager, self._notebooks = manager, notebooks

    def execute(self, notebook: NotebookNode) -> NotebookNode:
        """The notebook with its outputs and the state of its widgets; a first cell clears the names."""
        notebook.cells[:0] = new_notebook(_RESET).cells
        self._notebooks.nb = notebook
        self._notebooks.reset_execution_trackers()
        for index, cell in enumerate(notebook.cells):
            self._notebooks.execute_cell(cell, index)
        self._notebooks.set_widgets_metadata()
        return notebook

    def outputs(self, *cells: str) -> list[list[NotebookNode]]:
        """The outputs of each of these cells."""
        return [cell.outputs for cell in self.execute(new_notebook(*cells)).cells[1:]]

    @contextmanager
    def client(self, patience_s: float) -> Iterator[BlockingKernelClient]:
        """Another client, for its own protocol."""
        client = BlockingKernelClient()
        client.load_connection_info(self._manager.get_connection_info())
        client.start_channels()
        try:
            client.wait_for_ready(timeout=patience_s)
            yield client
        finally:
            client.stop_channels()


@contextmanager
def kernel(folder: Path, environment: Mapping[str, str]) -> Iterator[Kernel]:
    """A kernel with this working folder and environment, which ends with the block; it forks what it starts."""
    from nbclient import NotebookClient

    environment = {**environment, "PYTHONPATH": str(ROOT)}
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env=environment)
    notebooks = NotebookClient(new_notebook(), km=manager, timeout=600, startup_timeout=240)
    try:
        with notebooks.setup_kernel():
            made = Kernel(manager, notebooks)
            made.execute(new_notebook(FORK))
            yield made
            notebooks.kc.stop_channels()
    finally:
        manager.shutdown_kernel()
