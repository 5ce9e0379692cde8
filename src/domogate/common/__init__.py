"""Small tools that every other folder may use. They know nothing of the gateway: standard library and msgspec only."""
