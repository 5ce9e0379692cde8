"""What the gateway does."""
