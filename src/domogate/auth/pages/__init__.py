"""The pages under /auth: login, consent, account and errors. They are rendered on the server. Only passkeys need a script."""

from domogate.auth.pages.browser import COOKIE
from domogate.auth.pages.pages import Pages

__all__ = ["COOKIE", "Pages"]
