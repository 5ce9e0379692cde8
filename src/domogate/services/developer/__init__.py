"""Services for developers of applications: own applications and keys, and receivers for testing webhooks."""
