"""Surface at {base_url}/auth: what a client needs to verify what the gateway signs."""

from domogate.auth.surface import PREFIX, build

__all__ = ["PREFIX", "build"]
