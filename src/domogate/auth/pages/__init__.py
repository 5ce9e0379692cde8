"""What a person meets in the browser under /auth: log in, let an application in, look after the account. No script at all."""

from domogate.auth.pages.browser import COOKIE
from domogate.auth.pages.context import PeopleService
from domogate.auth.pages.pages import Pages

__all__ = ["COOKIE", "Pages", "PeopleService"]
