"""The command line: a thin face of :mod:`hdbkit.api`.

Exit codes: 0 done; 1 a check or comparison failed; 2 wrong input, nothing was started; 3 a run failed, or a sweep
has failed configurations; 130 stopped by Ctrl-C.
"""

from hdbkit.cli.main import app, main

__all__ = ["app", "main"]
