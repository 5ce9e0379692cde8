"""The revisions of the database. The result of a released revision never changes. To go back, restore a backup."""
