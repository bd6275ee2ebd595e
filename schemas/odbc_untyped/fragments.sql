-- fragment: typed(value, type)
-- Drivers state the type of each value.
{value}
