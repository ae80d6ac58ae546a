"""What answers say in words and intervals: means with their bounds, uses of limits, changes before and after."""
