-- fragment: top(rows)
TOP ({rows})

-- fragment: limit(rows)
-- It stands behind SELECT.
