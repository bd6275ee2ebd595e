-- fragment: returning(columns)
RETURNING {columns}
