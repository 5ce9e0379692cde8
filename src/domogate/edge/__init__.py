"""Around all surfaces: protocol guards, request ids, CORS, health, metrics, logs and drain."""
