-- What Babelfish answers otherwise.

-- name: server_version
SELECT CONCAT(CAST(SERVERPROPERTY('ProductVersion') AS VARCHAR(50)), ' (Babelfish for PostgreSQL ',
              CAST(SERVERPROPERTY('BabelfishVersion') AS VARCHAR(50)), ')');
