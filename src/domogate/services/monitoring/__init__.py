"""Shows operators what the gateway does now and did in the last hour."""
