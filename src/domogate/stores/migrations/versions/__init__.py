"""One file for each revision. Each file names the previous revision."""
