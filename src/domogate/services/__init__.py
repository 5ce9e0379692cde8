"""The work of the gateway, without HTTP and SQL. Each subject has one folder or one file."""
