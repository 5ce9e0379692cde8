"""What the gateway does now and did in the last hour, for operators."""
