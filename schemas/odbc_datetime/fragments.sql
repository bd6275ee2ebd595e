-- fragment: timestamp
DATETIME
