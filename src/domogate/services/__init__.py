"""What the gateway does, without HTTP and SQL. Each subject has one folder."""
