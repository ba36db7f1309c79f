"""What is said about findings: the links between them, clusters, a map, digests and reports of analysts."""
