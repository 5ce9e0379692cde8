"""Checks that a schema cannot express. For example, ids must be unique, and references between records must exist.

The checks also run on a document that breaks the schema, so all mistakes are reported together. The checks skip
malformed parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from domogate.common.secrets import hash_secret
from domogate.domain.devices import DeviceKind
from domogate.domain.formats import email_key, is_plain_http, is_redirect_uri
from domogate.domain.login_names import is_login_name_email
from domogate.domain.passwords import PASSWORD_LENGTH, find_password_problem, is_weak_secret
from domogate.domain.people import PAGES_CLIENT
from domogate.estate.explain import Finding
from domogate.estate.mistakes import Path, did_you_mean, listed, print_path, quoted
from domogate.estate.plant_checks import check_plant
from domogate.estate.records import Placed, driver_of, every_module, people_of, place_modules, records, text, texts
from domogate.estate.used_ids import UsedIds

Record = dict[str, Any]
OptionProblem = tuple[tuple[str | int, ...], str]
"""The path and the problem of a mistake in the options of a module."""
OptionCheck = Callable[[DeviceKind, Mapping[str, Any]], Iterator[OptionProblem]]
Drivers = Mapping[str, OptionCheck]
"""The known drivers, each with a function that checks the options of a module."""


def check_document(document: Any) -> Iterator[Finding]:
    """Check all parts of the document except the plants."""
    if not isinstance(document, dict):
        return
    yield from check_users(document)
    yield from _subscriptions(document)
    yield from _clients(document)
    yield from _spare_parts(document)


class PlantChecks:
    """Checks the plants of an estate file one after the other."""

    def __init__(self, users: Any, drivers: Drivers | None) -> None:
        found = records({"users": users}, "users")
        self._emails = {email_key(email): email for _, user in found if (email := text(user, "email"))}
        self._drivers = None if drivers is None else {name: _remember(check) for name, check in drivers.items()}

    def check_alone(self, path: Path, plant: Record) -> Iterator[Finding]:
        """Check one plant, except whether its ids are unique."""
        yield from _people(path, plant, self._emails)
        modules = place_modules(path, plant)
        yield from check_plant(path, plant, modules)
        yield from _check_drivers(plant, modules, self._drivers)

    def check(self, path: Path, plant: Any, identities: Iterable[tuple[str, UsedIds]]) -> Iterator[Finding]:
        """Check one plant, including whether its ids are unique, and note its ids.

        `identities` has a pair for each YAML key whose value must be unique. The pair is the key, and the values that this key
        has in earlier plants.
        """
        if not isinstance(plant, dict):
            return
        yield from self.check_alone(path, plant)
        for key, used in identities:
            for at, record in _identified(path, plant):
                if (value := text(record, key)) is not None and (first := used.add(email_key(value), print_path(at))):
                    yield Finding((*at, key), f"the {key} {quoted(value)} is already used by {first}")


def check_users(document: Record) -> Iterator[Finding]:
    emails, ids = _Once("e-mail address"), _Once("id")
    for path, user in records(document, "users"):
        yield from emails.see(path, user, "email")
        yield from ids.see(path, user, "id")
        yield from _either(path, user, "password", "passwordHash")
        email = text(user, "email") or ""
        if is_login_name_email(email) and "id" not in user:
            # A user with a login name is allowed only with an id. An export writes the id, so it can be imported again.
            yield from _check_address((*path, "email"), email)
        password = text(user, "password")
        # The schema reports a wrong length.
        if password is not None and PASSWORD_LENGTH[0] <= len(password) <= PASSWORD_LENGTH[1]:
            problem = find_password_problem(password, email)
            if problem is not None:
                yield Finding((*path, "password"), f"{problem[0].lower()}{problem[1:].rstrip('.')}")


def _subscriptions(document: Record) -> Iterator[Finding]:
    ids = _Once("id")
    first_by_hash: dict[str, Path] = {}
    for path, subscription in records(document, "subscriptions"):
        yield from ids.see(path, subscription, "id")
        yield from _either(path, subscription, "key", "keyHash")
        if "key" not in subscription and "keyHash" not in subscription:
            yield Finding(path, "the subscription has no key", "'key', or 'keyHash' as an export writes it")
        if "hint" in subscription and "keyHash" not in subscription:
            yield Finding((*path, "hint"), "'hint' is only allowed with 'keyHash'", at_key=True)
        yield from _weak_secret(path, subscription, "key")
        key, key_hash = text(subscription, "key"), text(subscription, "keyHash")
        hashed = hash_secret(key) if key is not None else key_hash
        if hashed is not None and (first := first_by_hash.setdefault(hashed, path)) is not path:
            at = (*path, "key" if key is not None else "keyHash")
            yield Finding(at, f"this key is already used by {print_path(first)}")


def _clients(document: Record) -> Iterator[Finding]:
    ids = _Once("client id", fold=False)
    for path, client in records(document, "clients"):
        yield from ids.see(path, client, "id")
        if text(client, "id") == PAGES_CLIENT:
            yield Finding((*path, "id"), f"{quoted(PAGES_CLIENT)} is the client of the gateway's own pages", "another id")
        yield from _either(path, client, "secret", "secretHash")
        yield from _weak_secret(path, client, "secret")
        for name in ("redirectUris", "postLogoutRedirectUris"):
            for at, uri in texts(path, client, name):
                if is_redirect_uri(uri) and is_plain_http(uri):
                    yield Finding(at, f"{quoted(uri)} is not protected", "https; http only to this machine (localhost)")
        if client.get("pkceExempt") is True and "secret" not in client and "secretHash" not in client:
            yield Finding((*path, "pkceExempt"), "an application without a secret needs PKCE", at_key=True)


def _people(path: Path, plant: Record, emails: dict[str, str]) -> Iterator[Finding]:
    owner = text(plant, "owner")
    members: dict[str, str] = {}
    if owner is not None:
        yield from _is_user((*path, "owner"), owner, emails)
        members[email_key(owner)] = "the owner"
    for at, email in people_of(path, plant, "allowed"):
        yield from _is_user(at, email, emails)
        if role := members.get(email_key(email)):
            yield Finding(at, f"{quoted(email)} is already {role}")
        members[email_key(email)] = "allowed here"
    for at, email in people_of(path, plant, "invited"):
        yield from _check_address(at, email)
        if role := members.get(email_key(email)):
            yield Finding(at, f"{quoted(email)} is already {role}")
        members[email_key(email)] = "invited"


def _check_address(path: Path, email: str) -> Iterator[Finding]:
    """Yield a finding if the address gets no mail. Such an address stands for the login name of an account (Decision 0100)."""
    if is_login_name_email(email):
        problem = f"{quoted(email)} stands for the login name of an account without an e-mail address"
        yield Finding(path, problem, "an address at which the person gets mail")


def _is_user(path: Path, email: str, emails: dict[str, str]) -> Iterator[Finding]:
    if email_key(email) not in emails:
        problem = f"no user has the e-mail address {quoted(email)}"
        yield Finding(path, problem, "an e-mail address under users", did_you_mean(email, emails.values(), 0.85))


def _identified(path: Path, plant: Record) -> Iterator[tuple[Path, Record]]:
    """Yield the plant, and its floors, ambients and modules, each with its path."""
    yield path, plant
    for floor_path, floor in records(plant, "floors", path):
        yield floor_path, floor
        yield from records(floor, "ambients", floor_path)
    yield from records(plant, "ambients", path)
    yield from every_module(path, plant)


def _check_drivers(plant: Record, modules: Sequence[Placed], drivers: Drivers | None) -> Iterator[Finding]:
    # A scene that names no driver belongs to the gateway, not to the driver of the plant.
    of_plant = driver_of(plant, {})
    named = [(it, text(it.record, "driver") or (None if it.kind is DeviceKind.SCENE else of_plant)) for it in modules]
    yield from _missing_drivers([it for it, driver in named if driver is None and it.kind is not DeviceKind.SCENE])
    for (path, module, kind), driver in named:
        if driver is None or drivers is None:
            continue
        if driver not in drivers:
            problem = f"there is no driver {quoted(driver)}"
            yield Finding((*path, "driver"), problem, listed(sorted(drivers)), did_you_mean(driver, drivers))
            continue
        options = module.get("options", {})
        if kind is not None and isinstance(options, dict):
            for at, problem in drivers[driver](kind, options):
                inside = (*path, "options", *at) if "options" in module else path
                yield Finding(inside, problem)


def _remember(check: OptionCheck) -> OptionCheck:
    """Return a check that gives the same results as `check`, and is faster.

    For modules without options, the new check calls `check` only once for each kind.
    """
    without_options: dict[DeviceKind, list[OptionProblem]] = {}

    def find(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
        if options:
            return check(kind, options)
        if kind not in without_options:
            without_options[kind] = list(check(kind, {}))
        return iter(without_options[kind])

    return find


def _missing_drivers(modules: Sequence[Placed]) -> Iterator[Finding]:
    """Yield a finding if modules of a plant have no driver.

    There is one finding for each plant, not for each module. A file for an earlier version of Domogate names no driver
    at all, and would have very many findings.
    """
    if not modules:
        return
    path, module, _ = modules[0]
    name = f" {quoted(name)}" if (name := text(module, "name")) else ""
    others = f", and {len(modules) - 1} other modules of this plant have none either" if len(modules) > 1 else ""
    allowed = "'driver' in the module or in its plant, for example mqtt or openwebnet; simulator for devices that do not exist"
    yield Finding(path, f"the module{name} has no driver{others}", allowed)


def _spare_parts(document: Record) -> Iterator[Finding]:
    once = _Once("unit reference", fold=False)
    for path, entry in records(document, "spareParts"):
        yield from once.see(path, entry, "unit")


def _weak_secret(path: Path, record: Record, key: str) -> Iterator[Finding]:
    secret = text(record, key)
    if secret is not None and is_weak_secret(secret):
        yield Finding((*path, key), "this is easy to guess", "random characters; `openssl rand -hex 32` prints some")


def _either(path: Path, record: Record, key: str, other: str) -> Iterator[Finding]:
    if key in record and other in record:
        yield Finding((*path, other), f"{key!r} and {other!r} cannot both be given", at_key=True)


class _Once:
    """Notes values that must be unique, and yields a finding for a value that was noted before."""

    def __init__(self, noun: str, *, fold: bool = True) -> None:
        self._noun = noun
        self._fold = fold
        self._seen: dict[str, Path] = {}

    def see(self, path: Path, record: Record, key: str) -> Iterator[Finding]:
        value = text(record, key)
        if value is None:
            return
        first = self._seen.setdefault(email_key(value) if self._fold else value, path)
        if first is not path:
            yield Finding((*path, key), f"the {self._noun} {quoted(value)} is already used by {print_path(first)}")
