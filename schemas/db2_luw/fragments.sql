-- What only Db2 for Linux, UNIX and Windows writes so (11.1 or later).

-- fragment: long_text
CLOB(1000000)

-- fragment: substring(text, start, length)
-- Unlike SUBSTR it adds no blanks where a text is shorter.
SUBSTRING({text}, {start}, {length}, CODEUNITS32)

-- fragment: for_update
-- The lock stays until the transaction ends.
FOR UPDATE WITH RS USE AND KEEP UPDATE LOCKS

-- fragment: plan_steps
-- The steps of the plan that this account asked for last, each with what takes its rows.
latest (at) AS (SELECT MAX(EXPLAIN_TIME) FROM SYSTOOLS.EXPLAIN_INSTANCE WHERE EXPLAIN_REQUESTER = SESSION_USER),
streams (source, source_id, target, target_id, object, amount) AS (
    SELECT SOURCE_TYPE, SOURCE_ID, TARGET_TYPE, TARGET_ID, RTRIM(OBJECT_NAME), STREAM_COUNT
    FROM SYSTOOLS.EXPLAIN_STREAM JOIN latest ON EXPLAIN_TIME = at WHERE EXPLAIN_REQUESTER = SESSION_USER),
steps (id, kind, cost, amount, parent, object) AS (
    SELECT OPERATOR_ID, RTRIM(OPERATOR_TYPE), TOTAL_COST,
           (SELECT MAX(s.amount) FROM streams AS s WHERE s.source = 'O' AND s.source_id = OPERATOR_ID),
           (SELECT MIN(s.target_id) FROM streams AS s
            WHERE s.source = 'O' AND s.source_id = OPERATOR_ID AND s.target = 'O'),
           (SELECT MIN(s.object) FROM streams AS s
            WHERE s.source = 'D' AND s.target = 'O' AND s.target_id = OPERATOR_ID)
    FROM SYSTOOLS.EXPLAIN_OPERATOR JOIN latest ON EXPLAIN_TIME = at WHERE EXPLAIN_REQUESTER = SESSION_USER)

-- fragment: remove_plan
DELETE FROM SYSTOOLS.EXPLAIN_INSTANCE
WHERE EXPLAIN_REQUESTER = SESSION_USER
  AND EXPLAIN_TIME = (SELECT MAX(EXPLAIN_TIME) FROM SYSTOOLS.EXPLAIN_INSTANCE WHERE EXPLAIN_REQUESTER = SESSION_USER)
