"""How the database came to be, revision by revision. A revision that was released is never edited."""
