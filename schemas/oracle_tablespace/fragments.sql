-- With the schema option tablespace.

-- fragment: table_options
TABLESPACE {tablespace}
