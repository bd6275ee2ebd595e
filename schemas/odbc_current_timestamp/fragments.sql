-- fragment: now
-- May be the time of another zone.
CURRENT_TIMESTAMP
