-- Reads and updates of one row by its key.

-- name: read
SELECT content FROM entries WHERE id = :id;

-- name: update
UPDATE entries SET content = :content WHERE id = :id;

-- name: create_entries
CREATE TABLE entries (id INT NOT NULL PRIMARY KEY, content VARCHAR(200) NOT NULL);

-- name: check_content
-- no row has lost its content
SELECT count(*) FROM entries WHERE content = '';
