-- With the schema option cache_groups: awt.

-- fragment: cache_group(name)
ASYNCHRONOUS WRITETHROUGH CACHE GROUP {name}
