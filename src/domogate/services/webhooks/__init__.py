"""Webhooks: their registration, and the delivery of events from the change feed (Decision 0045)."""
