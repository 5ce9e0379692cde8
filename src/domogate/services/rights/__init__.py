"""Rights: the credentials of a request, and what its user may see or do."""
