"""Services for developers: registering their applications and keys, and receivers for testing webhooks."""
