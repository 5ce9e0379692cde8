"""The surface of events: a stream that applications listen to, and the webhooks they register."""
