"""One kit for our own HTTP surfaces (management, events, webhooks, tickets): operations, credentials, problems, OpenAPI."""
