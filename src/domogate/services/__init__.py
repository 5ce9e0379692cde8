"""What the gateway does, one folder a subject."""
