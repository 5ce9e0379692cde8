"""The work of the gateway, without HTTP and SQL. Each topic has one folder or one file."""
