#!/bin/bash
# Run in the container as root: installs Python, then runs the conformance suite as the account of the instance.
set -e
dnf install --assumeyes python3.11 >/dev/null
exec su timesten -c '
    . /timesten/instance1/bin/ttenv.sh
    python3.11 -m venv /tmp/venv
    /tmp/venv/bin/pip install --quiet --editable "/hdbkit[timesten,postgresql,dev]"
    export HDBKIT_TEST_TIMESTEN="timesten://bench@/bench?connection=direct" HDBKIT_RESULTS=/tmp/results
    cd /hdbkit
    /tmp/venv/bin/hdbkit doctor "$HDBKIT_TEST_TIMESTEN"
    /tmp/venv/bin/hdbkit engine check "$HDBKIT_TEST_TIMESTEN"
    /tmp/venv/bin/python -m pytest -p no:cacheprovider tests/conformance -k timesten'
