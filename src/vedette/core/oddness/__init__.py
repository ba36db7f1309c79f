"""What is odd about a page: figures of the page, the crawl behind it, features, score (spec 004)."""
