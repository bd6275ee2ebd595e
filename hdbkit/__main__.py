"""The program ``hdbkit``, also as ``python -m hdbkit``."""

import os
import sys


def main() -> None:
    """Import the command line, which takes a second and may be interrupted, and execute it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # it forks; its threads would be in no fork
    try:
        from hdbkit.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line()


if __name__ == "__main__":
    main()
