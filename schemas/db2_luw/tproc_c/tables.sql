-- Options of the schema.

-- name: key_history
-- A key for a table that has none in TPC-C; no other statement uses it.
ALTER TABLE history ADD COLUMN h_id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY IMPLICITLY HIDDEN;
CALL SYSPROC.ADMIN_CMD('REORG TABLE history');
ALTER TABLE history ADD CONSTRAINT history_pk PRIMARY KEY (h_id);
