-- The documented calls, by our names of the transactions.

-- name: new_order
CALL neword($1, $2, $3, $4, $5, 0.0, '', '', 0.0, 0.0, 0, $6);

-- name: payment
CALL payment($1, $2, $3, $4, $5, $6, '0', $7, $8, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '',
             '', $9, 0.0, 0.0, 0.0, '', $10);

-- name: order_status
CALL ostat($1, $2, $3, $4, $5, '', '', 0.0, 0, $6, 0, '');

-- name: delivery
CALL delivery($1, $2, $3);

-- name: stock_level
CALL slev($1, $2, $3, 0);
