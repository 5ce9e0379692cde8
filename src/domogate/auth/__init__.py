"""Surface at {base_url}/auth: the OAuth 2.0 and OpenID Connect endpoints, and the pages for logins, consent and accounts.

The names of this package are imported when they are first used. So `app/failures.py` can import `answers.py` without importing
the pages (Decision 0142).
"""

from typing import TYPE_CHECKING

from domogate.common.late_imports import late_names

if TYPE_CHECKING:
    from domogate.auth.discovery import Discovery, build_well_known
    from domogate.auth.surface import PREFIX, build

__all__ = ["PREFIX", "Discovery", "build", "build_well_known"]

__getattr__ = late_names(__name__, {"discovery": ("Discovery", "build_well_known"), "surface": ("PREFIX", "build")})
