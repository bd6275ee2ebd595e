-- Queries of a session.

-- name: publish_work
-- Nothing needs to be published.
SELECT 1 {{from_nothing}};

-- name: work_of_server
-- Rows read, bytes read, and temporary files: unknown.
SELECT CAST(NULL AS {{bigint}}), CAST(NULL AS {{bigint}}), CAST(NULL AS {{bigint}}) {{from_nothing}};

-- name: work_of_session
-- The same of this session alone: unknown.
SELECT CAST(NULL AS {{bigint}}), CAST(NULL AS {{bigint}}), CAST(NULL AS {{bigint}}) {{from_nothing}};
