-- variant: unlocked
-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse where a query cannot lock: changes the item with the warehouse's number.
UPDATE item SET i_im_id = i_im_id WHERE i_id = :w_id;
