"""Bills: every term of what a month, a run or an item costs, and the cost of what is accepted."""
