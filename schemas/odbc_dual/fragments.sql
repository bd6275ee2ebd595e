-- fragment: from_nothing
FROM DUAL
