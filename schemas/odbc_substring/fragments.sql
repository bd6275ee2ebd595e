-- fragment: substring(text, start, length)
SUBSTRING({text}, {start}, {length})
