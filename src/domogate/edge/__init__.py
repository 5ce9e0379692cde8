"""The HTTP server, and everything that all surfaces share: guards, request ids, CORS, health, metrics, logs and drain."""
