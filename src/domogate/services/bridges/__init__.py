"""Bridges: publish the modules of plants to MQTT brokers, with the rights of a user (Decision 0122)."""
