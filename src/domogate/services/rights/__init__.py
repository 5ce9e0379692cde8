"""Rights: who is calling, and what this caller may see or do."""
