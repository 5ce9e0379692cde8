"""Checks all rules of the contract in order, and returns the outcome."""

import time
from collections.abc import Callable
from typing import NamedTuple

from domogate.conformance.access import (
    KEY_NEEDED,
    KIND_NEEDED,
    OWNER_ONLY,
    RIGHTS_NEEDED,
    SCOPE_NEEDED,
    TOKEN_NEEDED,
    TOKEN_VALID,
    Others,
    check_access,
)
from domogate.conformance.answers import ABOUT_ASKED, check_answers
from domogate.conformance.exchange import Client, Credentials
from domogate.conformance.operations import E3, E6, ERRORS, FAMILIES, OPERATIONS
from domogate.conformance.refusals import (
    NOWHERE,
    UNKNOWN_PLANT,
    UNKNOWN_RESOURCE,
    WRONG_PARAMETER,
    WRONG_URL,
    WRONG_VALUE,
    check_refusals,
)
from domogate.conformance.rules import Finding, Rule, Unchecked
from domogate.conformance.session import (
    ANSWERED,
    IS_JSON,
    NO_CONTENT,
    NO_PLUG,
    NOTHING_FOUND,
    SUCCESS,
    Session,
    Stopped,
)
from domogate.conformance.subjects import LISTED_EXISTS, Named, find_subjects, read_everything
from domogate.conformance.tokens import REFRESH, REFRESH_REFUSED, TokenEndpoint, check_tokens
from domogate.conformance.values import rules_in
from domogate.conformance.writing import CONTENT_TYPE, ECHO, PLUG_SET, SCENE_RUN, check_writing, plan_changes

_TOKEN_REFUSED = (401, 403)
"""The statuses that refuse a token. Home control may answer 403, because the specification does not list 401 for it."""


class Target(NamedTuple):
    """The implementation to check, and the credentials for it."""

    base_url: str
    credentials: Credentials
    access: Credentials | None = None
    others: Others = Others()
    endpoint: TokenEndpoint | None = None
    families: tuple[str, ...] = FAMILIES
    modules: tuple[Named, ...] = ()
    timeout: float = 30.0
    ca_file: str | None = None


class Outcome(NamedTuple):
    """The result of one run of `domogate conformance`."""

    base_url: str
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    checked: dict[Rule, int]
    requests: int
    refresh_token: str = ""
    """The new refresh token, if the run refreshed one."""


def all_rules() -> tuple[Rule, ...]:
    """Return every rule that `domogate conformance` knows, in the order of the sections of the contract."""
    found = [ANSWERED, IS_JSON, SUCCESS, NO_CONTENT, NOTHING_FOUND, NO_PLUG, LISTED_EXISTS, ABOUT_ASKED]
    found += [KEY_NEEDED, TOKEN_NEEDED, KIND_NEEDED, TOKEN_VALID, SCOPE_NEEDED, RIGHTS_NEEDED, OWNER_ONLY]
    found += [UNKNOWN_PLANT, UNKNOWN_RESOURCE, WRONG_URL, WRONG_PARAMETER, WRONG_VALUE]
    found += [PLUG_SET, SCENE_RUN, ECHO, CONTENT_TYPE, REFRESH_REFUSED, REFRESH]
    for operation in OPERATIONS:
        if operation.name != "E20":
            found.append(operation.lists_rule)
        found += rules_in(operation.body)
    for schema in ERRORS.values():
        found += rules_in(schema)
    return tuple(sorted(dict.fromkeys(found), key=lambda rule: _sort_key(rule.id)))


def _sort_key(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (1_000, part) for part in name.replace("E", "").split(".")]


def _choose_families(session: Session, target: Target) -> tuple[str, ...]:
    """Return the families that can be checked with the given tokens.

    Home control and the other families want different kinds of tokens (Spec 5). If there is only one token, it is tried with E3
    for home control and with E6 for the others. If exactly one of these two requests is refused, the families of the refused
    request are not checked.
    """
    of_home_control = [name for name in target.families if name == E3.family]
    others = [name for name in target.families if name != E3.family]
    if target.access is not None or not of_home_control or not others:
        return target.families
    home_control, other = (
        session.send(operation, "GET", operation.fill({"plant": NOWHERE}), target.credentials).status not in _TOKEN_REFUSED
        for operation in (E3, E6)
    )
    if home_control == other:
        return target.families
    checked, left, flag = (of_home_control, others, "--token") if home_control else (others, of_home_control, "--access-token")
    for name in left:
        session.skip(TOKEN_VALID, name, f"the family was not checked, because it refuses this kind of token: give {flag}")
    return tuple(checked)


def run(
    target: Target,
    may_write: Callable[[list[str]], bool],
    *,
    tell: Callable[[str], None] = lambda _text: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Check the target. `may_write` gets sentences about what the run would change, and decides whether operations that change
    something are called.

    If the target does not answer any more, the run ends early, and the outcome says so. Raises Unreachable if no connection can
    be opened at the start.
    """
    client = Client(target.base_url, timeout=target.timeout, ca_file=target.ca_file)
    session = Session(client, target.credentials, target.access, tell=tell, sleep=sleep)
    refreshed = ""
    try:
        refreshed = _check_all(session, target, may_write, tell)
    except Stopped as stopped:
        session.skip(ANSWERED, "all", str(stopped))
    finally:
        client.close()
    return Outcome(
        target.base_url, tuple(session.findings), tuple(session.unchecked), dict(session.checked), client.sent, refreshed
    )


def _check_all(session: Session, target: Target, may_write: Callable[[list[str]], bool], tell: Callable[[str], None]) -> str:
    """Check all rules. Return the new refresh token, or an empty text if no token was refreshed."""
    families = _choose_families(session, target)
    tell("reading lists and topologies")
    subjects = find_subjects(session, families, target.modules)
    write = may_write(plan_changes(subjects, families))
    tell("reading devices")
    read_everything(session, subjects, families)
    check_answers(session, subjects, families)
    tell("wrong ids and bodies")
    check_refusals(session, subjects, families, write=write)
    tell("keys, tokens and rights")
    check_access(session, subjects, families, target.others, write=write)
    if write:
        tell("operations that change something")
        check_writing(session, subjects, families)
    else:
        for rule, name in ((PLUG_SET, "E1"), (SCENE_RUN, "E5"), (ECHO, "E20")):
            session.skip(rule, name, "it changes something, and this was not allowed (--write)")
    return check_tokens(session, target.endpoint, write=write)
