-- With the schema option cache_groups: swt.

-- fragment: cache_group(name)
SYNCHRONOUS WRITETHROUGH CACHE GROUP {name}
