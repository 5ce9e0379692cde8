"""Rights: which credentials a request brings, and what its person may see or do."""
