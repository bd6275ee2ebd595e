-- What Babelfish answers otherwise.

-- name: server_version
SELECT CONCAT(CAST(SERVERPROPERTY('ProductVersion') AS VARCHAR(50)), ' (Babelfish for PostgreSQL ',
              CAST(SERVERPROPERTY('BabelfishVersion') AS VARCHAR(50)), ')');

-- name: set_statement_timeout
-- By PostgreSQL: it does not answer when a driver cancels a statement, which ends the connection.
SELECT set_config('statement_timeout', CONCAT({seconds}, 's'), false);

-- name: explain_text
-- The plan of a statement, as PostgreSQL shows it, without a result of its own for the time that it took to parse.
SELECT set_config('babelfishpg_tsql.explain_summary', 'off', false);
SET BABELFISH_SHOWPLAN_ALL ON;
{statement};
SET BABELFISH_SHOWPLAN_ALL OFF;
