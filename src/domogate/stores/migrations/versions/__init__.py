"""One file a revision, each naming the one before it."""
