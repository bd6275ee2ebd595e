#!/bin/bash
# The database of the conformance suite, in the instance that the image has; run as its account. Then it waits.
set -e
. /timesten/instance1/bin/ttenv.sh
mkdir -p /tmp/bench
cat >> "$TIMESTEN_HOME/conf/sys.odbc.ini" <<DSN
[bench]
DataStore=/tmp/bench/bench
PermSize=2048
TempSize=512
LogBufMB=256
DatabaseCharacterSet=AL32UTF8
ConnectionCharacterSet=AL32UTF8
DSN
ttDaemonAdmin -start || true
ttIsql -e "CREATE USER bench IDENTIFIED BY '$HDBKIT_PASSWORD'; GRANT ADMIN TO bench; quit" "DSN=bench"
ttAdmin -ramPolicy always bench
touch /tmp/ready
exec sleep infinity
