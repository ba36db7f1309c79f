"""Events, logs and the clock."""
