"""The revisions of the database. A released revision never changes its result. There are no downgrades: restore a backup."""
