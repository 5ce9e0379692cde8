"""Webhooks: registered by applications, delivered from the changes, however long a receiver is away."""
