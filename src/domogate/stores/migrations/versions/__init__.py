"""One file for each revision (version of the tables). Each file names the previous revision."""
