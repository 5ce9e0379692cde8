"""The page to change the name and the language."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.formats import NAME_LENGTH
from domogate.services.people import Actor, LoggedIn
from domogate.services.refusals import Invalid

PROFILE_PATH = f"{ACCOUNT_PATH}/profile"
LANGUAGE_NAMES: Final = {"de": "Deutsch", "en": "English", "fr": "Français", "it": "Italiano"}
"""Each name is in its own language, so that people can find it."""


class ProfilePages:
    """/auth/account/profile"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [route_by_method(PROFILE_PATH, get=self.show, post=self.change)]

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        return self._page(request, person, person.user.name, person.user.language)

    async def change(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        name, language = form.get("name").strip(), form.get("language") or None
        if not is_own_form(form, person.form_token) or (language is not None and language not in LANGUAGE_NAMES):
            return self._page(request, person, name, person.user.language, 400, {"": "login.stale"})
        by = Actor(person.user.id, address_of(request))
        try:
            if name != person.user.name:
                await self._context.people.set_name(person.user.id, name, by=by)
        except Invalid:
            return self._page(request, person, name, language, 400, {"name": "profile.problem_name"})
        if language != person.user.language:
            await self._context.people.set_language(person.user.id, language, by=by)
        return see_other(f"{ACCOUNT_PATH}?done=profile")

    def _page(
        self,
        request: Request,
        person: LoggedIn,
        name: str,
        chosen: str | None,
        status: int = 200,
        problems: dict[str, str] | None = None,
    ) -> Response:
        return self._context.render(
            request,
            "profile.html",
            person=person,
            status=status,
            name=name,
            chosen=chosen,
            languages=LANGUAGE_NAMES,
            longest=NAME_LENGTH,
            problems=problems or {},
        )
