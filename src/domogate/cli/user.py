"""`domogate user …`: users, their standing, and how they log in."""

from enum import StrEnum
from typing import Annotated, Any

import click

from domogate.app import Tools
from domogate.cli._command import Mistake, Yes, changing, command, confirm, group, reading
from domogate.cli._links import LINK_FLAGS, ShowLink, tell_link, with_address
from domogate.cli._names import Email, find_user
from domogate.cli._options import argument, flag, option
from domogate.cli._output import AsJson, iso, note, print_json, print_list, print_records, yes_or_no
from domogate.domain.ids import DASHED_UUID
from domogate.domain.people import Standing, User
from domogate.settings import Settings

commands = group("user")


class StandingWord(StrEnum):
    """The values of Standing, each written as one word without spaces, for the command line."""

    GOOD = "good"
    PASSWORD_EXPIRED = "password-expired"
    TERMS_EXPIRED = "terms-expired"
    BOTH_EXPIRED = "both-expired"


class LanguageWord(StrEnum):
    DE = "de"
    EN = "en"
    FR = "fr"
    IT = "it"
    BROWSER = "browser"


class YesOrNo(StrEnum):
    YES = "yes"
    NO = "no"


@command(commands, "add", flags=LINK_FLAGS)
async def add_user(
    settings: Settings,
    email: Email,
    name: Annotated[str, option("NAME", "Name of the user. Default: empty.")] = "",
    operator: Annotated[bool, flag("--operator", "The user may use the management API.")] = False,
    show_link: ShowLink = False,
    as_json: AsJson = False,
) -> None:
    """Add a user.

    The user sets a password by a one-time link. If a mail server is configured, the link is mailed, except with --show-link.
    Otherwise it is printed.
    """
    async with with_address(settings) as tools:
        user, link = await tools.people.create_user(email, name, operator=operator, show_link=show_link)
        tell_link(link, user.email, as_json, _shown(user))


@command(commands, "list")
async def list_users(settings: Settings, as_json: AsJson = False) -> None:
    """List all users."""
    async with reading(settings) as tools:
        found = sorted(await tools.store.list_users(), key=lambda user: user.email)
    rows = ((one.email, one.name, _state(one), one.standing, "yes" if one.operator else None, one.id) for one in found)
    columns = ("email", "name", "state", "standing", "operator", "id")
    print_list(as_json, [_shown(user) for user in found], columns, rows)


@command(commands, "show")
async def show_user(settings: Settings, email: Email, as_json: AsJson = False) -> None:
    """Show a user with plants, grants to applications, browser sessions, passkeys and accounts at other issuers."""
    async with reading(settings) as tools:
        user = await find_user(tools, email)
        shown = await _described(tools, user)
    if as_json:
        print_json(shown)
        return
    click.echo(f"{shown['email']}  {shown['name']}\nid {shown['id']}")
    flags = f"operator: {yes_or_no(shown['operator'])}, second factor: {yes_or_no(shown['second_factor'])}"
    click.echo(f"{_state(user)}, standing: {shown['standing']}, {flags}")
    click.echo(f"language: {shown['language'] or 'of the browser'}")
    lists = {
        "plants": "plants",
        "applications": "grants",
        "sessions": "sessions",
        "passkeys": "passkeys",
        "external accounts": "external_accounts",
    }
    for title, rows in ((title, shown[key]) for title, key in lists.items()):
        click.echo(f"\n{title}: {len(rows) or 'none'}")
        if rows:
            print_records(False, rows, list(rows[0]))


@command(commands, "change")
async def change_user(
    settings: Settings,
    email: Email,
    new_email: Annotated[str | None, option("EMAIL", "New e-mail address. It counts as not verified.", "--email")] = None,
    name: Annotated[str | None, option("NAME", "New name.")] = None,
    language: Annotated[
        LanguageWord | None, option(None, "Language of pages and mails. `browser`: the language of the browser.")
    ] = None,
) -> None:
    """Change the e-mail address, the name or the language of a user.

    If the e-mail address changes and a mail server is configured, the old address gets a mail about the change.
    """
    if new_email is None and name is None and language is None:
        raise Mistake("Nothing to change: give --email, --name or --language.")
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        if new_email is not None:
            user = await tools.people.set_email(user.id, new_email)
        if name is not None:
            await tools.people.set_name(user.id, name)
        if language is not None:
            await tools.people.set_language(user.id, None if language is LanguageWord.BROWSER else language.value)
    note(f"Changed {user.email}.")


@command(commands, "standing")
async def set_standing(
    settings: Settings,
    email: Email,
    standing: Annotated[StandingWord, argument("STANDING", "What the user must renew on the account page.")],
) -> None:
    """Set a user's standing, to test status 469 (password must be renewed) and 470 (terms must be accepted)."""
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.set_standing(user.id, Standing[standing.name])
    note(f"The standing of {user.email} is now: {Standing[standing.name]}.")
    if Standing[standing.name].terms_are_due and settings.terms_file is None and settings.terms_url is None:
        note(
            "The settings of this command name no terms of use. People can accept terms only at a gateway that has the text of "
            "the terms: set terms_file or terms_url there."
        )


@command(commands, "password-link", flags=LINK_FLAGS)
async def issue_link(settings: Settings, email: Email, show_link: ShowLink = False, as_json: AsJson = False) -> None:
    """Make a new link to set the password. Earlier links stop working. The old password works until a new password is set."""
    async with with_address(settings) as tools:
        user = await find_user(tools, email)
        tell_link(await tools.people.issue_password_link(user.id, show_link=show_link), user.email, as_json)


@command(commands, "operator")
async def set_operator(
    settings: Settings,
    email: Email,
    operator: Annotated[YesOrNo, argument("YES_OR_NO", "Whether the user may use the management API.")] = YesOrNo.YES,
) -> None:
    """Make a user an operator. With `no`, the user is not an operator any more; this is refused for the last operator."""
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.set_operator(user.id, operator is YesOrNo.YES)
    note(f"{user.email} is {'now' if operator is YesOrNo.YES else 'no longer'} an operator.")


@command(commands, "second-factor-reset")
async def reset_second_factor(settings: Settings, email: Email) -> None:
    """Remove the second factor of a user who lost it: authenticator app, passkeys and recovery codes.

    The user is logged out, and can log in with only the password. If the gateway requires a second factor, it then asks the
    user to set up a new one.
    """
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.reset_second_factor(user.id)
    note(f"Removed the second factor of {user.email}.")


@command(commands, "passkey-remove")
async def remove_passkey(
    settings: Settings, email: Email, passkey: Annotated[str, argument("ID", "Id of the passkey, as `user show` prints it.")]
) -> None:
    """Remove one passkey of a user, for example of a lost device."""
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        passkey_id = DASHED_UUID.parse_id(passkey)
        if passkey_id is None:
            raise Mistake(f"{passkey!r} is not the id of a passkey; `domogate user show {email}` prints it.")
        await tools.people.remove_passkey(user.id, passkey_id)
    note(f"Removed the passkey of {user.email}.")


@command(commands, "external-unbind")
async def unbind_external_accounts(settings: Settings, email: Email) -> None:
    """Unbind the accounts at other issuers from a user, for example if the user has a new account at an issuer.

    When the next token with the e-mail address of the user arrives, the gateway binds the account in this token to the user.
    """
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        unbound = await tools.people.unbind_external_accounts(user.id)
    note(f"{user.email}: unbound {unbound} accounts.")


@command(commands, "logout")
async def log_out(
    settings: Settings,
    email: Email,
    applications: Annotated[bool, flag("--applications", "Also revoke the grants of all applications.")] = False,
) -> None:
    """Log a user out of every browser. With --applications, the gateway refuses all tokens that it has issued to the user."""
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        ended = await tools.people.end_sessions(user.id)
        revoked = await tools.people.revoke_grants(user.id) if applications else 0
    note(f"{user.email}: ended {ended} sessions, revoked {revoked} grants.")


@command(commands, "delete")
async def delete_user(settings: Settings, email: Email, yes: Yes = False) -> None:
    """Delete a user with sessions, grants and memberships. Refused while the user owns plants, and for the last operator."""
    async with changing(settings) as tools:
        user = await find_user(tools, email)
        confirm(f"Delete {user.email} with all sessions, granted applications and memberships?", yes)
        await tools.people.delete_user(user.id)
    note(f"Deleted {user.email}.")


def _shown(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "active": user.active,
        "standing": user.standing,
        "operator": user.operator,
        "second_factor": user.has_second_factor,
        "language": user.language,
        "terms_version": user.terms_version,
    }


async def _described(tools: Tools, user: User) -> dict[str, Any]:
    plants, _ = await tools.store.list_plants_of(user.id)
    names = {one.id: one.name for one in plants}
    return {
        **_shown(user),
        "plants": [
            {"id": one.id, "name": one.name, "status": one.status, "as": "owner" if one.owner.user_id == user.id else "allowed"}
            for one in plants
        ],
        "grants": [
            {
                "id": one.id,
                "client": one.client_id,
                "scopes": " ".join(one.scopes),
                "plants": "all" if one.plants is None else ", ".join(sorted(names.get(it, it) for it in one.plants)),
                "since": iso(one.created_at),
            }
            for one in await tools.store.list_grants(user.id)
        ],
        "sessions": [
            {"id": one.id, "seen": iso(one.seen_at), "address": one.address, "agent": one.agent}
            for one in await tools.store.list_sessions(user.id)
        ],
        "passkeys": [
            {"id": one.id, "name": one.name, "since": iso(one.created_at), "used": iso(one.used_at)}
            for one in await tools.store.list_passkeys(user.id)
        ],
        "external_accounts": [
            {"issuer": one.issuer, "subject": one.subject, "bound": iso(one.bound_at)}
            for one in await tools.store.list_external_accounts(user.id)
        ],
    }


def _state(user: User) -> str:
    return "active" if user.active else "not active yet"
