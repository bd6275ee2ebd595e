-- With the schema option cache_groups: read_only. Changes of Oracle Database arrive every five minutes.

-- fragment: cache_group(name)
READONLY CACHE GROUP {name} AUTOREFRESH
