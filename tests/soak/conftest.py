"""Tests that take minutes; `make soak` runs them, `make test` does not."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("HDBKIT_SOAK") else ["test_*.py"]
