-- What only Db2 for Linux, UNIX and Windows writes so (11.1 or later).

-- fragment: long_text
CLOB(1000000)

-- fragment: substring(text, start, length)
-- Unlike SUBSTR it adds no blanks where a text is shorter.
SUBSTRING({text}, {start}, {length}, CODEUNITS32)

-- fragment: for_update
-- The lock stays until the transaction ends.
FOR UPDATE WITH RS USE AND KEEP UPDATE LOCKS
