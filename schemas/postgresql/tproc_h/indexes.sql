-- name: index_lineitem_pk
-- From an index, so that the other indexes of the table are created at the same time; a key alone would lock it. A
-- partitioned table takes no key from an index.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = CAST('lineitem' AS regclass) AND relkind = 'p') THEN
        ALTER TABLE lineitem ADD CONSTRAINT lineitem_pk PRIMARY KEY (l_orderkey, l_linenumber);
    ELSE
        CREATE UNIQUE INDEX lineitem_pk ON lineitem (l_orderkey, l_linenumber);
        ALTER TABLE lineitem ADD CONSTRAINT lineitem_pk PRIMARY KEY USING INDEX lineitem_pk;
    END IF;
END $$;
