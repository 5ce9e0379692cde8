"""The pages that an invitation link opens: a person joins a home, with an existing account or with a new one (Decision 0100).

Opening a page does not use up the link, because chat and mail programs open links too.
"""

import math
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import Form, is_own_form, read_form, visit_token
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.guest_links import describe_link
from domogate.auth.pages.limits_form import print_zone
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.pages.password_links import SetPasswordPages
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.formats import NAME_LENGTH, is_name
from domogate.domain.login_names import LOGIN_NAME_LENGTH, email_of_login_name, is_login_name
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.services.people import INVITATION_LINK_PATH, LoggedIn, OpenedInvitation
from domogate.services.refusals import Conflict, NotFound, Refused

_PATH = INVITATION_LINK_PATH.partition("?")[0]
_NEW_ACCOUNT_PATH = f"{_PATH}/account"
_TRIES = 10
"""The number of tries to make an account with one link. After that, the person has to wait."""


class Typed(msgspec.Struct, frozen=True):
    """The values that the person typed into the form for a new account. The page shows them again after a mistake."""

    login_name: str = ""
    name: str = ""


class InvitationPages(SetPasswordPages):
    """The pages at /auth/invitation?token=TOKEN, on which a person joins the home of an invitation link."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        # With a link, a person could find out which login names exist.
        self._throttle = context.throttle_links("invitation", _TRIES)

    def routes(self) -> list[Route]:
        return [
            route_by_method(_PATH, get=self.show, post=self.join),
            route_by_method(_NEW_ACCOUNT_PATH, get=self.show_new_account, post=self.create_account),
        ]

    # --- with an existing account -------------------------------------------------------------------------------------

    async def show(self, request: Request) -> Response:
        return await self._show(request, request.query_params.get("token", ""))

    async def join(self, request: Request) -> Response:
        form = await read_form(request)
        token = form.get("token")
        opened = await self._context.people.open_invitation(token)
        if opened is None:
            return self._dead(request)
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(f"{INVITATION_LINK_PATH}{token}"))
        if not is_own_form(form, person.form_token):
            return self._page(request, token, opened, person, "login.stale")
        try:
            link = await self._context.people.accept_invitation(token, person.user.id, address=address_of(request))
        except (NotFound, Conflict):
            # At the same time the link was used, the account was deleted, or the person got access: show the current state.
            return await self._show(request, token)
        return see_other(f"/homes/{link.plant_id}" if self._context.has_door else f"{ACCOUNT_PATH}?done=joined")

    async def _show(self, request: Request, token: str) -> Response:
        opened = await self._context.people.open_invitation(token)
        if opened is None:
            return self._dead(request)
        return self._page(request, token, opened, await self._context.find_person(request))

    def _page(
        self, request: Request, token: str, opened: OpenedInvitation, person: LoggedIn | None, problem: str | None = None
    ) -> Response:
        return_to = f"{INVITATION_LINK_PATH}{token}"
        return self._render(
            request,
            "invitation.html",
            opened,
            token,
            person=person,
            status=400 if problem else 200,
            problem=problem,
            has_access=person is not None and self._has_access(opened, person),
            login_url=self._context.login_url(return_to),
            switch_url=self._context.login_url(return_to, switch="yes"),
            new_account_url=f"{_NEW_ACCOUNT_PATH}?token={token}",
        )

    def _has_access(self, opened: OpenedInvitation, person: LoggedIn) -> bool:
        member = opened.home.plant.find_member(person.user.id)
        if member is None:
            return False
        until = None if member.limits is None else member.limits.valid_until
        return until is None or self._context.clock.now() < until

    def _render(
        self,
        request: Request,
        template: str,
        opened: OpenedInvitation,
        token: str,
        person: LoggedIn | None = None,
        **values: Any,
    ) -> Response:
        """Render a page that names the home and its owner, and says what the invited person may use."""
        plant, language = opened.home.plant, self._context.language_for(request, person=person)
        return self._context.render(
            request,
            template,
            language=language,
            person=person,
            plant=plant,
            owner=opened.owner.name,
            row=describe_link(language, opened.link, opened.home),
            zone=print_zone(plant, self._context.clock.now()),
            token=token,
            **values,
        )

    # --- with a new account -------------------------------------------------------------------------------------------

    async def show_new_account(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        opened = await self._context.people.open_invitation(token)
        if opened is None:
            return self._dead(request)
        return self._account_page(request, token, opened, Typed())

    async def create_account(self, request: Request) -> Response:
        form = await read_form(request)
        token, password = form.get("token"), form.get("password")
        typed = Typed(form.get("login_name").strip(), form.get("name").strip())
        opened = await self._context.people.open_invitation(token)
        if opened is None:
            return self._dead(request)
        problems = _find_problems(form, visit_token(request), typed)
        if problems:
            return self._account_page(request, token, opened, typed, 400, problems)
        wait = await self._throttle.admit(token, address_of(request))
        if wait > 0:
            return self._account_page(request, token, opened, typed, 429, wait=math.ceil(wait))
        try:
            user = await self._context.people.create_invited_user(
                token, typed.login_name, typed.name, password, address=address_of(request)
            )
        except NotFound:
            return self._dead(request)
        except Conflict:
            return self._account_page(request, token, opened, typed, 409, {"login_name": "invitation.problem_taken"})
        except Refused:
            return self._account_page(request, token, opened, typed, 400, {"password": "password.refused"})
        return await self._context.log_in_after_link(request, user, password)

    def _account_page(
        self,
        request: Request,
        token: str,
        opened: OpenedInvitation,
        typed: Typed,
        status: int = 200,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._render(
            request,
            "invitation_account.html",
            opened,
            token,
            status=status,
            wait=wait,
            problems=problems or {},
            typed=typed,
            action=_NEW_ACCOUNT_PATH,
            back=f"{INVITATION_LINK_PATH}{token}",
            login_name_length=LOGIN_NAME_LENGTH,
            name_length=NAME_LENGTH,
            shortest=PASSWORD_LENGTH[0],
        )

    def _dead(self, request: Request) -> Response:
        return self._dead_page(request, "invitation", "link.ask_owner", mails_links=False)


def _find_problems(form: Form, form_token: str, typed: Typed) -> dict[str, str]:
    """Return the wrong fields of the form, each with the key of the text that explains the problem."""
    if not is_own_form(form, form_token):
        return {"": "login.stale"}
    problems = {}
    if not is_login_name(typed.login_name):
        problems["login_name"] = "invitation.problem_login_name"
    if not is_name(typed.name):
        problems["name"] = "profile.problem_name"
    flaw = find_flaw(form.get("password"), form.get("repeated"), email_of_login_name(typed.login_name))
    return problems | (dict([flaw]) if flaw is not None else {})
