-- fragment: long_text
TEXT
