"""Clients of other servers: mail, webhook receivers, the echo service."""
