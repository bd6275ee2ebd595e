#!/bin/sh
# A gate for CI: is the target NEW slower than BASE? Exit 1 where a regression beyond 5 % is shown.
#   runners/gate.sh BASE NEW [ID [OPTION...]]        two names in params/targets.yaml, or URLs
# Both sides are measured in turn, so that other activity of the machine affects both. With `--strict`, undecided fails
# too. The same ID continues what was interrupted. Options are those of `hdbkit compare`, and replace the ones below:
#   runners/gate.sh postgresql://bench@db1/base postgresql://bench@db1/new pr-17 --workload bench --duration-s 20
set -eu
base=$1 new=$2 id=${3:-$(date +%Y%m%d-%H%M%S)}
shift "$(( $# < 3 ? $# : 3 ))"
exec hdbkit compare "$base" "$new" --run --blocks 5 --label "gate-$id" -u 1,4,16 --rampup-s 30 --duration-s 60 \
    --fail-below -5% --report "$@"
