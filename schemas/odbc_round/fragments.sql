-- fragment: exact(amount)
ROUND({amount}, 2)
