"""How a batch starts the kernels of its notebooks."""

from __future__ import annotations

import sys

import pytest

from hdbkit.api.batch import _kernel_manager


@pytest.mark.parametrize(
    ("given", "started", "environment"),
    [
        (["python", "-m", "ipykernel"], [sys.executable, "-P", "-m", "ipykernel"], {}),
        (["env", "python", "-m", "ipykernel"], ["env", "python", "-m", "ipykernel"], {"PYTHONSAFEPATH": "1"}),
    ],
    ids=["own", "launcher"],
)
def test_only_our_own_python_gets_an_option_and_others_the_environment(
    given: list[str], started: list[str], environment: dict[str, str]
) -> None:
    kernelspec = pytest.importorskip("jupyter_client.kernelspec")
    manager = _kernel_manager()()
    manager._kernel_spec = kernelspec.KernelSpec(argv=given, language="python")
    assert manager.format_kernel_cmd() == started
    assert manager.kernel_spec.env == environment
