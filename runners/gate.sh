#!/bin/sh
# A gate for CI: is the server of the target NEW slower than that of BASE? Exit 1 where a regression beyond 5 % is shown.
#   runners/gate.sh BASE NEW [ID]        two names in params/targets.yaml, or URLs
# Both sides are measured in turn, so that other activity of the machine affects both. With `--strict`, undecided would
# fail too. The same ID continues what was interrupted.
set -eu
base=$1 new=$2 id=${3:-$(date +%Y%m%d-%H%M%S)}
hdbkit compare "$base" "$new" --run --blocks 5 --label "gate-$id" -u 1,4,16 --rampup-s 30 --duration-s 60 \
    --fail-below -5% --report
