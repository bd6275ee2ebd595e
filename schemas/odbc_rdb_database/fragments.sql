-- fragment: from_nothing
FROM RDB$DATABASE
