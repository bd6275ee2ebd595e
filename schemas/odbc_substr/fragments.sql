-- fragment: substring(text, start, length)
SUBSTR({text}, {start}, {length})
