"""Surface at {base_url}/auth: the OAuth 2.0 and OpenID Connect endpoints, and the pages for people."""

from domogate.auth.discovery import Discovery, build_well_known
from domogate.auth.surface import PREFIX, build

__all__ = ["PREFIX", "Discovery", "build", "build_well_known"]
