"""The base class of the pages for a person who is logged in. Every posted form gets the same checks, in the same order."""

from collections.abc import Awaitable, Callable, Collection
from enum import Enum, auto
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import Form, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageGroup
from domogate.auth.pages.language import Language
from domogate.auth.redirects import see_other
from domogate.auth.routing import Endpoint, route_by_method
from domogate.domain.people import User
from domogate.services.people import Actor, LoggedIn, LoginThrottled


class PasswordAgain(Enum):
    """Whether the person must enter the password again before a change."""

    NEVER = auto()
    UNLESS_RECENT = auto()
    """The person must enter the password, unless the login was less than five minutes ago."""
    ALWAYS = auto()


class FormRefused(Exception):
    """The form is not accepted. The page of the form is shown again, with this status.

    `problems` has the key of a text for each wrong field. The field name "" stands for the whole form. `wait` is the number of
    seconds until the next try.
    """

    def __init__(self, status: int, problems: dict[str, str] | None = None, wait: int | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.problems = problems or {}
        self.wait = wait


_NOT_REFUSED = FormRefused(200)

_KEPT_FIELDS = ("plant", "email", "passkey")
"""The fields of a query that say what a page shows. They are kept during the login. A token of a link is not kept."""


class Visit(msgspec.Struct, frozen=True):
    """A request of a person who is logged in. The form of a GET request is empty."""

    request: Request
    person: LoggedIn
    form: Form = Form()

    @property
    def user(self) -> User:
        return self.person.user

    @property
    def address(self) -> str:
        return address_of(self.request)

    @property
    def actor(self) -> Actor:
        return Actor(self.user.id, self.address)

    def get(self, name: str) -> str:
        """Return a field of the posted form. For GET, return a field of the query."""
        return self.form.get(name) if self.request.method == "POST" else self.request.query_params.get(name, "")

    def notice_of(self, known: Collection[str]) -> str | None:
        """Return the change that the person has just made (query parameter `done`).

        Return None if the page has no text for this change.
        """
        notice = self.request.query_params.get("done", "")
        return notice if notice in known else None


Show = Callable[[Visit, FormRefused | None], Awaitable[Response]]
Act = Callable[[Visit], Awaitable[Response]]


class LoggedInPages(PageGroup):
    """A group of pages for people who are logged in. A request without a login is redirected to the login.

    After the login, the person gets the page that was opened.
    """

    start = ACCOUNT_PATH
    """The path of a page. A person who posts a form without a login first logs in, and then gets this page."""

    def form(self, path: str, show: Show, act: Act, password: PasswordAgain = PasswordAgain.NEVER) -> Route:
        """Return the route of a page with one form, which is posted to the same path."""
        return route_by_method(path, get=self.shown(show), post=self.posted(act, show, password))

    def action(self, path: str, act: Act, show: Show | None = None, password: PasswordAgain = PasswordAgain.NEVER) -> Route:
        """Return the route to which a form is posted, if the page with the form has another path."""
        return Route(path, self.posted(act, show, password), methods=["POST"])

    def shown(self, show: Show) -> Endpoint:
        async def serve(request: Request) -> Response:
            person = await self._context.find_person(request)
            if person is None:
                return see_other(self._context.login_url(_path_with_kept_fields(request)))
            return await show(Visit(request, person), None)

        return serve

    def posted(self, act: Act, show: Show | None = None, password: PasswordAgain = PasswordAgain.NEVER) -> Endpoint:
        """Return an endpoint that calls `act` after two checks.

        The form must come from a page in this browser. If a password is required, it must be right.

        If one of these checks fails, or if `act` raises FormRefused, the endpoint calls `show`. If `show` is None, the account
        page says that the form was open for too long.
        """

        async def serve(request: Request) -> Response:
            form = await read_form(request)
            person = await self._context.find_person(request)
            if person is None:
                return see_other(self._context.login_url(self.start))
            visit = Visit(request, person, form)
            try:
                await self._check(visit, password)
                return await act(visit)
            except FormRefused as refused:
                return done("stale") if show is None else await show(visit, refused)

        return serve

    async def _check(self, visit: Visit, password: PasswordAgain) -> None:
        if not is_own_form(visit.form, visit.person.form_token):
            raise FormRefused(400, {"": "login.stale"})
        if password is PasswordAgain.NEVER:
            return
        sessions = self._context.sessions
        confirm = sessions.confirm_password if password is PasswordAgain.ALWAYS else sessions.confirm_person
        refused = await confirm(visit.person, visit.form.get("current"), visit.address)
        if isinstance(refused, LoginThrottled):
            raise FormRefused(429, wait=refused.seconds)
        if refused is not None:
            raise FormRefused(403, {"current": "password.wrong"})

    def _render(self, visit: Visit, template: str, refused: FormRefused | None = None, **values: Any) -> Response:
        refused = refused or _NOT_REFUSED
        return self._context.render(
            visit.request,
            template,
            person=visit.person,
            status=refused.status,
            wait=refused.wait,
            problems=refused.problems,
            problem=next(iter(refused.problems.values()), None),
            asks_password=not self._context.sessions.is_recent(visit.person),
            **values,
        )

    def _language_of(self, visit: Visit) -> Language:
        return self._context.language_for(visit.request, person=visit.person)


def _path_with_kept_fields(request: Request) -> str:
    kept = {name: request.query_params[name] for name in _KEPT_FIELDS if name in request.query_params}
    return f"{request.url.path}?{urlencode(kept)}" if kept else request.url.path


def done(what: str, path: str = ACCOUNT_PATH) -> Response:
    """Redirect to a page that says what was changed."""
    return see_other(f"{path}{'&' if '?' in path else '?'}done={what}")
