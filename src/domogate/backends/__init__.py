"""Clients of other servers: mail, receivers of webhooks, the echo service."""
