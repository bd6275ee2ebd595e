-- fragment: long_text
LONGTEXT
