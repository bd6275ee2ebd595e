"""A notebook over parameter files: ``python runners/batch.py NOTEBOOK PARAMS.yaml...``; ``--help`` lists the options.

The same as ``hdbkit batch``; exit codes are those of runners/README.md.
"""

import sys

from hdbkit.cli import main

if __name__ == "__main__":
    main(["batch", *sys.argv[1:]])
