-- What HammerDB created in this account's database.

-- name: list_keys
-- Tables that have a primary key.
SELECT DISTINCT TABLE_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME;
