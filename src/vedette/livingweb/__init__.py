"""Pages, feeds, sitemaps, faults and truth: a small web of our own on loopback."""
