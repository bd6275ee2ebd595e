-- fragment: timestamp
DATETIME2
