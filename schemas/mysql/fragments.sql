-- lexer: backslash_text, backslash_double, backtick, spaced_comment, hash_comment, executable_comment, block_comment

-- fragment: long_text
MEDIUMTEXT

-- fragment: table_options
-- Text compares byte by byte, as on every other engine.
CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- fragment: typed(value, type)
-- Values are sent as literals, whose types are known.
{value}

-- fragment: concat(first, second)
CONCAT({first}, {second})

-- fragment: limit(rows)
LIMIT {rows}

-- fragment: hash_partitions(column)
PARTITION BY HASH ({column}) PARTITIONS {partitions}

-- fragment: sessions
performance_schema.processlist

-- fragment: age_of_transaction(t)
TIMESTAMPDIFF(SECOND, {t}.trx_started, CONVERT_TZ(NOW(), @@SESSION.time_zone, 'SYSTEM'))

-- fragment: state_class
CASE WHEN p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('waiting for handler commit', 'Waiting for semi-sync ACK from replica') THEN 'log'
            WHEN p.STATE IN ('Sending to client', 'Reading from net', 'Writing to net', 'Receiving from client')
            THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END

-- fragment: locked_table
(SELECT l.OBJECT_NAME FROM performance_schema.data_locks AS l
                  WHERE l.ENGINE_LOCK_ID = t.trx_requested_lock_id LIMIT 1)

-- fragment: blocking_session
(SELECT b.trx_mysql_thread_id FROM performance_schema.data_lock_waits AS w
                  JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID
                  WHERE w.REQUESTING_ENGINE_TRANSACTION_ID = t.trx_id LIMIT 1)

-- fragment: working
p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')

-- fragment: history_columns
h_c_id    INTEGER       NOT NULL,
    h_c_d_id  SMALLINT      NOT NULL,
    h_d_id    SMALLINT      NOT NULL,
    h_c_w_id  INTEGER       NOT NULL,
    h_w_id    INTEGER       NOT NULL,
    h_date    DATETIME      NOT NULL,
    h_amount  NUMERIC(6,2)  NOT NULL,
    h_data    VARCHAR(24)   NOT NULL
