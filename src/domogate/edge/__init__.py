"""Everything that all surfaces share: protocol guards, request ids, CORS, health, metrics, logs and drain."""
