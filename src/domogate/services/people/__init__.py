"""People: accounts, logins, sessions, second factors, and who is a member of which plant."""
