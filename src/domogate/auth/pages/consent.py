"""The consent page: scopes in groups, and the homes that the application may use."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.pages.context import AUTHORIZE_PATH, KEPT_IN_A_QUERY, PageContext
from domogate.auth.pages.language import Language
from domogate.auth.pages.rendering import host_of
from domogate.domain.people import Client, IdentityScope
from domogate.services.authorization.consents import Incomplete, Question
from domogate.services.authorization.scopes import ON_PURPOSE, ScopeGroup, group_scopes
from domogate.services.people import LoggedIn


class ScopeRow(msgspec.Struct, frozen=True):
    """A scope with the title and the text that the page shows for it."""

    scope: str
    title: str
    about: str

    @property
    def required(self) -> bool:
        return self.scope == IdentityScope.OPENID


class GroupRows(msgspec.Struct, frozen=True):
    """A group of scopes. If `on_purpose` is true, the boxes of the group are not ticked at first: the person must tick them."""

    group: ScopeGroup
    rows: tuple[ScopeRow, ...]

    @property
    def on_purpose(self) -> bool:
        return self.group in ON_PURPOSE


def describe_scopes(language: Language, scopes: Iterable[str]) -> list[GroupRows]:
    def describe(scope: str) -> ScopeRow:
        return ScopeRow(scope, language.say(f"scopes.{scope}.title"), language.say(f"scopes.{scope}.about"))

    return [GroupRows(group, tuple(map(describe, members))) for group, members in group_scopes(scopes).items()]


def render_consent(
    context: PageContext,
    request: Request,
    person: LoggedIn,
    *,
    client: Client,
    question: Question,
    fields: Mapping[str, str],
    problem: Incomplete | None,
) -> Response:
    """Render the consent form. It posts `fields`, the ticked scopes and plants, and `decision` (allow or deny)."""
    language = context.language_for(request, f"{AUTHORIZE_PATH}?{urlencode(fields)}", person)
    query = request.url.query if request.method == "GET" and request.url.query else urlencode(fields)
    back = fields.get("redirect_uri") or "".join(client.redirect_uris[:1])
    return context.render(
        request,
        "consent.html",
        language=language,
        person=person,
        status=200 if problem is None else 400,
        form_targets=context.targets_for(client.redirect_uris, fields.get("redirect_uri", "")),
        host=host_of(back),
        action=AUTHORIZE_PATH,
        client=client,
        question=question,
        groups=describe_scopes(language, question.scopes),
        problem=None if problem is None else f"consent.problem_{problem.value}",
        problem_field="plant-1" if problem is Incomplete.NO_PLANT else "scope-1-1",
        fields=fields,
        switch_url=context.login_url(quote(f"{AUTHORIZE_PATH}?{query}", safe=KEPT_IN_A_QUERY), switch="yes"),
    )
