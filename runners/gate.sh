#!/bin/sh
# A gate for CI: is the server of the target NEW slower than that of BASE? Exit 1 where a regression beyond 5 % is shown.
#   runners/gate.sh BASE NEW [ID]        two names in params/targets.yaml, or URLs
# Both sides alternate, so that other activity of the machine affects both. With `--strict`, undecided would fail too.
set -eu
base=$1 new=$2 id=${3:-$(date +%Y%m%d-%H%M%S)}
for block in 1 2 3 4 5; do
    hdbkit profile "base-$id" "$base" -u 1,4,16 --rampup-s 30 --duration-s 60
    hdbkit profile "new-$id" "$new" -u 1,4,16 --rampup-s 30 --duration-s 60
done
hdbkit compare "base-$id" "new-$id" --fail-below -5% --report
