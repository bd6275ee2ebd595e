"""Which tables and routines the SQL of a workload uses: what is found is used for certain."""

from __future__ import annotations

import pytest

from hdbkit.workloads.custom.uses import uses

S, N, U, D, L, T = "SELECT", "INSERT", "UPDATE", "DELETE", "LOCK", "TRUNCATE"

USES: dict[str, dict[str, str]] = {
    # read
    "SELECT a FROM t WHERE id = :id": {S: "t"},
    "SELECT 1": {},
    "SELECT a, (SELECT max(b) FROM u) FROM t AS x, s.v y JOIN w ON x.id = w.id LEFT JOIN z USING (id)": {
        S: "s.v t u w z"
    },
    "(SELECT a FROM t) UNION ALL SELECT a FROM u ORDER BY 1, a": {S: "t u"},
    "SELECT * FROM (t JOIN u ON t.a = u.a), LATERAL (SELECT * FROM v, w) AS x (a) WHERE a IN (1, 2)": {S: "t u v w"},
    "SELECT a FROM t, unnest(ARRAY[1, 2]) AS x (n), u GROUP BY a, n": {S: "t u"},
    "SELECT a FROM ROWS FROM (f(1), g(2)) AS x, t": {S: "t"},
    "SELECT a FROM (VALUES (1), (2)) AS v (a), ONLY t": {S: "t"},
    'SELECT * FROM "My Table", `other one`.`t`': {S: '"My Table"|"other one"."t"'},
    "SELECT a FROM db.s.t": {S: "s.t"},
    "EXPLAIN SELECT a FROM t": {S: "t"},
    # FROM that begins no list of tables
    "SELECT extract(year FROM day), trim(BOTH ' ' FROM name), a IS NOT DISTINCT FROM b FROM t": {S: "t"},
    "SELECT substring(a FROM 2 FOR 3) FROM t": {S: "t"},
    # common table expressions
    "WITH x AS (SELECT a FROM t), y (b) AS NOT MATERIALIZED (SELECT b FROM x, u) SELECT * FROM x, y": {S: "t u"},
    "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT n FROM x) SELECT * FROM x": {},
    "WITH gone AS (DELETE FROM t WHERE a = 1 RETURNING *) INSERT INTO u SELECT * FROM gone": {S: "t", D: "t", N: "u"},
    "SELECT a FROM (WITH x AS (SELECT a FROM t) SELECT a FROM x) AS y": {S: "t"},
    "SELECT now()::timestamp WITH TIME ZONE FROM t": {S: "t"},
    # change
    "INSERT INTO t (a, b) VALUES (:a, :b)": {N: "t"},
    "INSERT IGNORE t VALUES (:a)": {N: "t"},
    "INSERT INTO t SELECT a FROM u WHERE a > 1 RETURNING id": {N: "t", S: "t u"},
    "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2": {N: "t", U: "t"},
    "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE b = 2": {N: "t", U: "t"},
    "INSERT INTO t SELECT a FROM u FOR NO KEY UPDATE": {N: "t", S: "u", L: "u"},
    "REPLACE INTO t VALUES (1)": {N: "t", D: "t"},
    "SELECT replace(a, 'x', 'y'), insert(a, 1, 2, 'z'), truncate(a, 2) FROM t": {S: "t"},
    "UPDATE t SET a = 1": {U: "t"},
    "UPDATE ONLY t AS x SET a = u.a FROM u WHERE x.id = u.id": {U: "t", S: "t u"},
    "UPDATE t, u SET t.a = u.a WHERE t.id = u.id": {S: "t u"},  # which of them is changed is in the names of columns
    "UPDATE t JOIN u ON t.id = u.id SET t.a = 1": {S: "t u"},
    "UPDATE t SET a = (SELECT max(a) FROM u) WHERE id = 1 RETURNING a": {U: "t", S: "t u"},
    "DELETE FROM t": {D: "t"},
    "INSERT INTO t (a) VALUES (1) RETURNING now()": {N: "t"},
    "INSERT INTO t (a) VALUES (1) RETURNING CURRENT_TIMESTAMP AS at, :x::int n, 'a' || 'b'": {N: "t"},
    "INSERT INTO t (a) VALUES (1) RETURNING (SELECT max(b) FROM u)": {N: "t", S: "u"},
    "INSERT INTO t (a) VALUES (1) RETURNING *": {N: "t", S: "t"},
    "INSERT INTO t AS x (a) VALUES (1) RETURNING 1, x.a": {N: "t", S: "t"},
    "INSERT INTO t (a) VALUES (1) RETURNING lower(a)": {N: "t", S: "t"},
    "UPDATE t SET a = 1 WHERE :x > 1": {U: "t"},
    "UPDATE t SET a = 1 WHERE true AND (now() > :then OR NOT @y)": {U: "t"},
    "UPDATE t SET a = 1 WHERE EXISTS (SELECT b FROM u WHERE b = 1)": {U: "t", S: "u"},
    "UPDATE t SET a = 1 WHERE :x > 1 AND b IS NULL": {U: "t", S: "t"},
    "UPDATE t SET a = 1 WHERE `b` = 1": {U: "t", S: "t"},
    "UPDATE t SET a = 1 FROM u WHERE b = 1": {U: "t", S: "u"},  # b may be a column of u
    "DELETE FROM t WHERE random() < 0.1": {D: "t"},
    'DELETE FROM t WHERE "a" = :a': {D: "t"},  # a text on some engines
    "DELETE FROM t WHERE id = 1": {D: "t", S: "t"},
    "DELETE FROM t USING u WHERE t.id = u.id": {D: "t", S: "t u"},
    "DELETE FROM x USING t AS x JOIN u ON x.id = u.id": {S: "t u"},
    "DELETE t, u FROM t JOIN u ON t.id = u.id": {S: "t u"},
    "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND u.gone THEN DELETE WHEN MATCHED THEN UPDATE SET a = u.a "
    "WHEN NOT MATCHED THEN INSERT VALUES (u.id, u.a)": {S: "t u", D: "t", U: "t", N: "t"},
    "TRUNCATE TABLE t, u": {T: "t u"},
    # lock
    "SELECT a FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED": {S: "t", L: "t"},
    "SELECT a FROM t FOR SHARE": {S: "t", L: "t"},
    "SELECT a FROM t JOIN u ON t.id = u.id FOR UPDATE": {S: "t u"},
    "SELECT a FROM t FOR UPDATE OF x": {S: "t"},
    # what is no SQL
    "SELECT ' FROM a', 'it''s FROM b', $$ FROM c $$, $x$ FROM $$ d $x$, :from FROM t -- FROM e": {S: "t"},
    "SELECT a /* FROM b /* FROM c */ FROM d */ FROM t # FROM e\n, u": {S: "t u"},
    "SELECT \" FROM a\" FROM t": {S: "t"},
    "SELECT a FROM t WHERE b = {FROM c}": {S: "t"},
    "SELECT 'unfinished FROM t": {},
    # a backslash before a quote ends the string, or does not
    r"SELECT 'a\' FROM t": {},
    r"SELECT 'a\' FROM t, '' FROM u": {},
    r"SELECT 'a\b' FROM t": {S: "t"},
    # several statements, and those of other kinds
    "SET @a = 1; UPDATE t SET a = @a; SELECT a FROM u": {U: "t", S: "u"},
    "COPY t FROM STDIN; DO $$ BEGIN DELETE FROM u; END $$; LOCK TABLE v; SELECT 1": {},
    "BEGIN; DELETE FROM t; COMMIT": {D: "t"},
    "BEGIN NOT ATOMIC IF :a THEN DELETE FROM t; END IF; DELETE FROM u; END": {},
    "CREATE TEMPORARY TABLE IF NOT EXISTS made AS SELECT * FROM t; INSERT INTO made SELECT * FROM u": {S: "u"},
}  # fmt: skip


@pytest.mark.parametrize("text", USES)
def test_the_tables_of_a_statement_by_privilege(text: str) -> None:
    found = {privilege: set(names) for privilege, names in uses([text]).tables.items()}
    assert found == {
        privilege: set(names.split("|" if '"' in names else " ")) for privilege, names in USES[text].items()
    }


def test_the_statements_of_a_workload_are_taken_together() -> None:
    found = uses(
        ["WITH t AS (SELECT 1) SELECT * FROM t", "SELECT a FROM t", "DELETE FROM t", "CREATE TABLE u (a INT)"]
    )
    assert found.tables == {"SELECT": {"t"}, "DELETE": {"t"}}
    assert uses(["CREATE TABLE u (a INT)", "INSERT INTO u VALUES (1)"]).tables == {}


def test_routines_are_those_of_call_and_functions_may_be_the_engines() -> None:
    found = uses(["CALL move(:a)", "CALL s.pay ( 1 )", "SELECT f(a), s.g(a), max(b) AS h FROM t, gen(1, 2)"])
    assert found.routines == {"move", "s.pay"}
    assert found.functions == {"f", "s.g", "max", "gen"}
    assert uses(["WITH x (a) AS (SELECT 1) INSERT INTO t (a) SELECT a FROM x"]).functions == set()
