-- fragment: limit(rows)
LIMIT {rows}
