-- Where Apache Derby lacks a form of Db2 (tried on 10.7.1.1). The engine adds this folder to its dialects when a probe of
-- the server finds Derby, which speaks Db2's wire protocol.

-- fragment: long_text
-- The driver cannot read a CLOB from it.
VARCHAR(32672)

-- fragment: substring(text, start, length)
SUBSTR({text}, {start}, {length})

-- fragment: for_update
FOR UPDATE WITH RS
