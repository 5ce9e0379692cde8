"""Events for applications: which changes are events, how they are encoded, and the event streams."""
