#!/bin/sh
# Run by the image once, when the database has been created.
echo "DEFINE password = '$ORACLE_PWD'" | cat - "$(dirname "$0")/account/bench.sql" | sqlplus -S -L / as sysdba
