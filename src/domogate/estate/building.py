"""Builds the domain's values from the records of an estate file."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from domogate.common.secrets import hash_secret
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.formats import email_key
from domogate.domain.ids import Id, derived_id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import Ambient, Detail, Floor, Invitation, Member, Module, SceneDetail, Topology
from domogate.estate import format as words
from domogate.estate.records import KINDS, driver_of
from domogate.estate.repeated import MOST_RESTS, RepeatedRecord
from domogate.estate.shapes import IDENTITY

Record = dict[str, Any]

HINT_LENGTH = 6
_FIELDS_OF_HEAD = 3
"""The first fields of `Module`: id, internal id and name. Repeated records (`repeated.py`) differ only in these fields."""


class EstateFile(msgspec.Struct, frozen=True):
    """A correct estate file.

    If the file has a password in clear text, the user in `estate` does not have its hash yet. The passwords and the other
    secrets in clear text are in separate fields.
    """

    source: str
    estate: Estate
    passwords: dict[Id, str]
    """Passwords in clear text, by user id."""
    keys: dict[Id, str]
    """Subscription keys in clear text, by subscription id."""
    secrets: dict[str, str]
    """Client secrets in clear text, by client id."""

    def __repr__(self) -> str:
        return f"EstateFile({self.source!r})"


def _ids(record: Record) -> dict[str, Id]:
    identity = IDENTITY.read(record["id"])
    internal = IDENTITY.read(record["internalId"]) if "internalId" in record else derived_id("internal", identity)
    return {"id": identity, "internal_id": internal}


class EstateBuilder:
    """Builds the domain's values from records that passed all checks. `__init__` builds the users, because plants name them."""

    def __init__(self, users: Iterable[Record]) -> None:
        self._passwords: dict[Id, str] = {}
        self._keys: dict[Id, str] = {}
        self._secrets: dict[str, str] = {}
        self._members: dict[str, Member] = {}
        self._prototypes: dict[tuple[str, str | None], _Prototype] = {}
        self._users = tuple(map(self._user, users))

    def build(self, document: Record, source: str) -> EstateFile:
        """Build everything in the file except the plants. The passwords are not hashed yet."""
        estate = Estate(
            users=self._users,
            subscriptions=tuple(map(self._subscription, document.get("subscriptions", ()))),
            clients=tuple(map(self._client, document.get("clients", ()))),
            spare_parts=tuple(map(words.SPARE_PARTS.read, document.get("spareParts", ()))),
        )
        return EstateFile(source, estate, self._passwords, self._keys, self._secrets)

    def _user(self, record: Record) -> User:
        email = record["email"]
        identity = IDENTITY.read(record["id"]) if "id" in record else derived_id("user", email_key(email))
        if "password" in record:
            self._passwords[identity] = record["password"]
        self._members[email_key(email)] = Member(identity, email)
        return words.USER.read(record, id=identity)

    def _subscription(self, record: Record) -> Subscription:
        key = record.get("key")
        key_hash = hash_secret(key) if key is not None else record["keyHash"]
        identity = IDENTITY.read(record["id"]) if "id" in record else derived_id("subscription", key_hash)
        if key is not None:
            self._keys[identity] = key
        hint = key[:HINT_LENGTH] if key is not None else record.get("hint", "")
        return words.SUBSCRIPTION.read(record, id=identity, key_hash=key_hash, hint=hint)

    def _client(self, record: Record) -> Client:
        more = {}
        if "secret" in record:
            self._secrets[record["id"]] = record["secret"]
            more["secret_hash"] = hash_secret(record["secret"])
        return words.CLIENT.read(record, scopes=tuple(record["scopes"]), **more)

    def build_plant(self, record: Record) -> EstatePlant:
        content = _Content(driver_of(record, {}), self._prototypes)
        topology = Topology(
            floors=tuple(
                Floor(**_ids(floor), name=floor["name"], ambients=content.build_ambients(floor))
                for floor in record.get("floors", ())
            ),
            ambients=content.build_ambients(record),
            modules=content.build_modules(record),
        )
        is_site = topology.has_controller()
        plant = words.PLANT.read(
            record,
            **_ids(record),
            owner=self._members[email_key(record["owner"])],
            allowed=tuple(map(self._member, record.get("allowed", ()))),
            invited=tuple(Invitation(words.email_of(one), words.read_limits(one)) for one in record.get("invited", ())),
            emergency_lighting=is_site or record.get("emergencyLighting", False),
        )
        return EstatePlant(plant, topology, tuple(content.states))

    def _member(self, person: Any) -> Member:
        return msgspec.structs.replace(self._members[email_key(words.email_of(person))], limits=words.read_limits(person))


class _Prototype(NamedTuple):
    """The part that the modules of repeated records share. Such records differ only in ids and name (`repeated.py`)."""

    fields: tuple[Any, ...]
    """The fields of the module after its name."""
    state: FirstState | None


class _Content:
    """Builds the ambients and modules of one plant, and collects the first states of the modules in `states`.

    `driver` is the driver of modules that name no driver. A scene that names no driver belongs to the gateway and needs no
    driver.
    """

    def __init__(self, driver: str | None, prototypes: dict[tuple[str, str | None], _Prototype]) -> None:
        self._driver = driver
        self._prototypes = prototypes
        self.states: list[FirstState] = []

    def build_ambients(self, holder: Record) -> tuple[Ambient, ...]:
        return tuple(
            Ambient(**_ids(record), name=record["name"], type=record.get("type", "other"), modules=self.build_modules(record))
            for record in holder.get("ambients", ())
        )

    def build_modules(self, holder: Record) -> tuple[Module, ...]:
        modules: list[Module] = []
        for record in holder.get("modules", ()):
            if type(record) is RepeatedRecord and "units" not in record:
                modules.append(self._repeated(record))
            else:
                modules += self._with_units(record)
        return tuple(modules)

    def _repeated(self, record: RepeatedRecord) -> Module:
        key = record.rest, self._driver
        prototype = self._prototypes.get(key)
        if prototype is None:
            (first,) = self._with_units(record)
            if len(self._prototypes) < MOST_RESTS:
                state = self.states[-1] if self.states and self.states[-1].module_id == first.id else None
                self._prototypes[key] = _Prototype(msgspec.structs.astuple(first)[_FIELDS_OF_HEAD:], state)
            return first
        identity = IDENTITY.read(record["id"])
        if prototype.state is not None:
            self.states.append(FirstState(identity, prototype.state.state, prototype.state.reachable))
        return Module(identity, IDENTITY.read(record["internalId"]), record["name"], *prototype.fields)

    def _with_units(self, record: Record) -> list[Module]:
        """Return the module, and the emergency units below it if it is a controller."""
        kind = KINDS[record["kind"]]
        controller = IDENTITY.read(record["controller"]) if "controller" in record else None
        of_kind = {} if self._driver is None or kind is DeviceKind.SCENE else {"driver": self._driver}
        module = self._build_module(of_kind | record, kind, controller)
        units = record.get("units", ())
        return [module, *(self._build_module(of_kind | unit, DeviceKind.EMERGENCY_UNIT, module.id) for unit in units)]

    def _build_module(self, record: Record, kind: DeviceKind, controller: Id | None) -> Module:
        ids = _ids(record)
        state, reachable = words.read_state(kind, record), record.get("reachable", True)
        if state is not None or not reachable:
            self.states.append(FirstState(ids["id"], state, reachable))
        name, detail = record.get("name", ""), _detail(kind, record)
        return words.MODULE.read(record, **ids, name=name, kind=kind, detail=detail, controller_id=controller)


def _detail(kind: DeviceKind, record: Record) -> Detail | None:
    match kind:
        case DeviceKind.SCENE:
            return SceneDetail(words.STEPS.read(record.get("steps", ())))
        case DeviceKind.CHRONOTHERMOSTAT:
            return words.THERMOSTAT_DETAIL.read(record)
        case DeviceKind.EMERGENCY_CONTROLLER:
            return words.CONTROLLER_DETAIL.read(record)
        case DeviceKind.EMERGENCY_UNIT:
            return words.UNIT_DETAIL.read(record)
        case _:
            return None
