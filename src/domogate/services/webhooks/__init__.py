"""Webhooks: registering them, and delivering to each what it may be told, from its place in the feed (Decision 0045)."""
