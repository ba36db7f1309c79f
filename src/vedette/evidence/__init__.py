"""Keeps what was seen: append-only, chained, readable by any WARC tool, verifiable offline."""
