"""`domogate conformance`: checks any implementation of the nine families against the contract."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click

from domogate.cli._command import FAILED, Mistake, WrongUsage, plain_command, reporting_errors, top_level
from domogate.cli._files import check_folder
from domogate.cli._options import Declared, flag, option
from domogate.cli._output import note
from domogate.conformance.access import Others
from domogate.conformance.exchange import Client, Credentials, Unreachable, parse_url
from domogate.conformance.operations import FAMILIES
from domogate.conformance.reports import REPORTS, as_text
from domogate.conformance.run import Outcome, Target, run
from domogate.conformance.subjects import KINDS, Named
from domogate.conformance.tokens import TokenEndpoint

commands = top_level()


class ReportFormat(StrEnum):
    """The formats of the report. `REPORTS` has a function for each format."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


def _secret(help: str) -> Declared:
    return option("VALUE", f"{help} @FILE reads it from a file.")


@plain_command(commands, "conformance")
def check_conformance(
    base_url: Annotated[str, option("URL", "The {base_url} of the contract: the address of the implementation.")],
    key: Annotated[str, _secret("Subscription key.")],
    token: Annotated[
        str,
        _secret(
            "Id token of a user with plants. Without --access-token, families that refuse this token are not checked. But if"
            " all families of the run refuse this token, all are checked."
        ),
    ],
    access_token: Annotated[str | None, _secret("Access token of the same user, for home control.")] = None,
    other_token: Annotated[str | None, _secret("Id token of another user, to check rights.")] = None,
    other_access_token: Annotated[str | None, _secret("Access token of the other user.")] = None,
    narrow_token: Annotated[str | None, _secret("Id token without scopes of the families, to check scopes.")] = None,
    narrow_access_token: Annotated[str | None, _secret("Access token without scopes of the families.")] = None,
    auth_url: Annotated[str | None, option("URL", "The {auth_url} of the contract, to check the token endpoint.")] = None,
    client_id: Annotated[str | None, option("ID", "Id of an application that is registered at --auth-url.")] = None,
    client_secret: Annotated[str | None, _secret("Secret of this application.")] = None,
    refresh_token: Annotated[
        str | None,
        _secret("Refresh token. After a run with --write it does not work any more, so the command prints a new token."),
    ] = None,
    only: Annotated[list[str] | None, option("FAMILY", f"Check only this family. One of: {', '.join(FAMILIES)}.")] = None,
    module: Annotated[
        list[str] | None,
        option("KIND=PLANT/ID", f"A module that no topology shows. KIND is {', '.join(dict.fromkeys(KINDS.values()))}."),
    ] = None,
    write: Annotated[bool, flag("--write", "Also check the operations that change something, without asking first.")] = False,
    plan: Annotated[bool, flag("--plan", "Only say what --write changes. Nothing is changed.")] = False,
    report: Annotated[
        ReportFormat,
        option("FORMAT", "Format of the report. Default: text. One of: text, json, junit, html.", show_default=False),
    ] = ReportFormat.TEXT,
    output: Annotated[Path | None, option("FILE", "Write the report to this file. Default: standard output.")] = None,
    timeout: Annotated[float, option("SECONDS", "Longest time for one answer.", min=0.1, max=600)] = 30.0,
    cacert: Annotated[Path | None, option("FILE", "Certificates to trust, in PEM format.")] = None,
) -> None:
    """Check any implementation of the nine families against the contract.

    It checks schemas, statuses, limits, keys, tokens and rights.

    The command says what it would change before it changes something. With --write it makes these changes. Without --write
    it asks for permission at a terminal; if there is no terminal or no permission, it only reads.
    The exit code is 0 without findings, 1 with findings or if there is no answer, 2 for a wrong command line.

    Example: `domogate conformance --base-url http://127.0.0.1:8080 --key KEY --token @id.token --access-token @access.token`
    """
    with reporting_errors():
        _check_url("--base-url", base_url)
        if auth_url is not None:
            _check_url("--auth-url", auth_url)
        if output is not None:
            check_folder(output)
        families = _families(only)
        own = Credentials(_read_header("--key", key), _read_header("--token", token))
        target = Target(
            base_url,
            own,
            _as(own, access_token, "ACCESS_TOKEN"),
            Others(
                _as(own, other_token, "OTHER_TOKEN"),
                _as(own, other_access_token, "OTHER_ACCESS_TOKEN"),
                _as(own, narrow_token, "NARROW_TOKEN"),
                _as(own, narrow_access_token, "NARROW_ACCESS_TOKEN"),
            ),
            _endpoint(auth_url, client_id, client_secret, refresh_token, timeout, cacert),
            families,
            tuple(map(_named, module or ())),
            timeout,
            None if cacert is None else str(cacert),
        )

        def may_write(changes: list[str]) -> bool:
            if plan:
                click.echo("\n".join(changes) or "Nothing would be changed.")
                raise click.exceptions.Exit(0)
            for change in changes:
                note(f"--write: {change}")
            return write or (sys.stdin.isatty() and click.confirm("Check these operations too?", err=True))

        try:
            outcome = run(target, may_write, tell=note)
        except Unreachable as failed:
            raise Mistake(f"{base_url} cannot be checked: {failed}") from None
        if outcome.refresh_token:  # Before the report, because writing the file may fail.
            note(f"The new refresh token is {outcome.refresh_token}")
        _print(outcome, report, output)


def _print(outcome: Outcome, report: ReportFormat, output: Path | None) -> None:
    text = REPORTS[report](outcome)
    if output is None:
        click.echo(text)
    else:
        output.write_text(f"{text}\n", encoding="utf-8")
        note(as_text(outcome).rpartition("\n")[2])
    if outcome.findings:
        raise click.exceptions.Exit(FAILED)


def _read(value: str) -> str:
    """Return the value of a flag. If it is `@FILE`, return the content of this file. Raises Mistake if this is not UTF-8."""
    try:
        return Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value
    except UnicodeDecodeError:
        raise Mistake(f"{value[1:]} is not a text in UTF-8.") from None


def _read_header(name: str, value: str) -> str:
    """Return the value of a flag that is sent in a header. Raises WrongUsage if it is not one line of ASCII characters.

    The message of this exception does not contain the value.
    """
    text = _read(value)
    if not (text.isascii() and text.isprintable()):
        raise WrongUsage(f"{name}: the value must be one line of ASCII characters.")
    return text


def _as(own: Credentials, token: str | None, name: str) -> Credentials | None:
    flag = f"--{name.lower().replace('_', '-')}"
    return None if token is None else own._replace(token=_read_header(flag, token), token_name=name)


def _check_url(name: str, url: str) -> None:
    try:
        parse_url(url)
    except ValueError as wrong:
        raise WrongUsage(f"{name}: {wrong}.") from None


def _families(only: list[str] | None) -> tuple[str, ...]:
    if unknown := [name for name in only or () if name not in FAMILIES]:
        raise WrongUsage(f"there is no family {', '.join(unknown)}; the families are {', '.join(FAMILIES)}.")
    return tuple(only) if only else FAMILIES


def _named(text: str) -> Named:
    kind, _, rest = text.partition("=")
    plant, _, module = rest.partition("/")
    if kind not in KINDS.values() or not plant or not module:
        raise WrongUsage(f"--module {text}: write KIND=PLANT/ID, for example thermostat=PLANT/ID.")
    return Named(kind, plant, module)


def _endpoint(
    auth_url: str | None,
    client_id: str | None,
    client_secret: str | None,
    refresh_token: str | None,
    timeout: float,
    cacert: Path | None,
) -> TokenEndpoint | None:
    if auth_url is None or client_id is None:
        return None
    client = Client(auth_url, timeout=timeout, ca_file=None if cacert is None else str(cacert))
    return TokenEndpoint(client, client_id, _read(client_secret or ""), _read(refresh_token or ""))
