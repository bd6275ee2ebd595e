-- What sources differ in besides the fragments of standard SQL. The folders odbc_* have one variant each; which of them
-- apply to a source is found out by the statements of server/tries.sql.

-- fragment: returning(columns)
-- Follows a statement that changes rows where its result has what became of them.
