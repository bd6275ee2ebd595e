#!/bin/sh
# From nothing to a result on any database: build (with its checks), run, print, drop.
#   HDBKIT_PASSWORD=... runners/once.sh TARGET [SCALE [USERS [OPTION...]]]
#   runners/once.sh postgresql://bench@db1/lab 100 16
#   runners/once.sh mariadb://bench@db1/lab               mysql://bench@db1/lab       sqlserver://bench@db1/lab
#   runners/once.sh oracle://bench@db1/FREEPDB1           db2://bench@db1/LAB         timesten://bench@db1/lab
#   runners/once.sh redis://db1/0                         sqlite:///tmp/lab.db
#   WORKLOAD=tproc_h runners/once.sh postgresql://bench@db1/lab 1 2
# The schema must not exist; SCALE is warehouses, or the scale factor of tproc_h. Options are those of `hdbkit run`.
set -eu
target=$1 scale=${2:-1} users=${3:-1} workload=${WORKLOAD:-tproc_c}
shift "$(( $# < 3 ? $# : 3 ))"
case $workload in tproc_c) size=--warehouses ;; *) size=--scale-factor ;; esac
set -- "$target" --workload "$workload" "$size" "$scale" -u "$users" "$@"
found=0; hdbkit check "$target" --workload "$workload" >/dev/null 2>&1 || found=$?
case $found in 0 | 1) echo "$target has a schema of $workload, which this script would drop" >&2; exit 2 ;; esac
hdbkit build "$target" --workload "$workload" "$size" "$scale"
trap 'hdbkit drop "$target" --workload "$workload" --yes' EXIT
failed=0; hdbkit run "$@" || failed=$?
exit "$failed"
