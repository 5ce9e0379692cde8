"""The page to change the name and the language."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, Visit, done
from domogate.domain.formats import NAME_LENGTH
from domogate.services.refusals import Invalid

PROFILE_PATH = f"{ACCOUNT_PATH}/profile"
LANGUAGE_NAMES: Final = {"de": "Deutsch", "en": "English", "fr": "Français", "it": "Italiano"}
"""The name of each language is written in this language, so that people can find their language."""


class ProfilePages(LoggedInPages):
    """The page at /auth/account/profile, on which people change their name and their language."""

    def routes(self) -> list[Route]:
        return [self.form(PROFILE_PATH, self.show, self.change)]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        """Show the form. After a refused form, the page shows the values that were sent."""
        name, language = (visit.user.name, visit.user.language) if refused is None else _read(visit)
        return self._render(
            visit, "profile.html", refused, name=name, chosen=language, languages=LANGUAGE_NAMES, longest=NAME_LENGTH
        )

    async def change(self, visit: Visit) -> Response:
        name, language = _read(visit)
        if language is not None and language not in LANGUAGE_NAMES:
            raise FormRefused(400, {"": "login.stale"})
        try:
            if name != visit.user.name:
                await self._context.people.set_name(visit.user.id, name, by=visit.actor)
        except Invalid:
            raise FormRefused(400, {"name": "profile.problem_name"}) from None
        if language != visit.user.language:
            await self._context.people.set_language(visit.user.id, language, by=visit.actor)
        return done("profile")


def _read(visit: Visit) -> tuple[str, str | None]:
    return visit.form.get("name").strip(), visit.form.get("language") or None
