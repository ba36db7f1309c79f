"""The freshness promise as numbers: what is expected before a run, what was measured after it."""
