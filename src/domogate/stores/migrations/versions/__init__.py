"""One file for each revision. Each names its predecessor."""
