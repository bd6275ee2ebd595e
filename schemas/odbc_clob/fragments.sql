-- fragment: long_text
CLOB
