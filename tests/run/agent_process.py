"""An agent without the command line, whose imports take longer than all the rest: ``ADDRESS STATE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hdbkit.agent import AgentOptions, StartedAgent, serve
from hdbkit.config import Target


def main() -> None:
    """Serve the target ``own``."""
    serve(Target.parse("own"), AgentOptions(listen=sys.argv[1], state=Path(sys.argv[2])), _say)


def _say(started: StartedAgent) -> None:
    sys.stdout.write(json.dumps({"url": started.url, "fingerprint": started.fingerprint}, indent=1) + "\n")
    sys.stdout.flush()
