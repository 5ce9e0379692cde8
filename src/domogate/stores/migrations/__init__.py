"""The revisions of the database. The result of a released revision never changes. There are no downgrades: restore a backup."""
