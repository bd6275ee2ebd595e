-- fragment: concat(first, second)
CONCAT({first}, {second})
