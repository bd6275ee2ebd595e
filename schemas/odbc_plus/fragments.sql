-- fragment: concat(first, second)
{first} + {second}
