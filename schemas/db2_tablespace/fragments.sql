-- With the schema options tablespace or table_tablespaces.

-- fragment: table_options
IN {tablespace}
