"""Reading a correct file: derived ids, hashed secrets, and passwords."""

import hashlib

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import ControllerDetail, UnitDetail
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import EmergencyState, LightState, Reading, ThermostatState, Unit
from domogate.estate import build_estate, read_estate

TEXT = """\
users:
  - {email: Anna@example.com, password: anna-lights-the-lamp}
  - {email: bruno@example.com, passwordHash: "$argon2id$x"}
  - {email: carla@example.com}
subscriptions:
  - {name: Demo, key: demo-subscription-key-0001, expires: 2026-11-15T01:00:00+01:00}
clients:
  - {id: demo-app, name: Demo, secret: demo-app-secret-0001, scopes: [light.read]}
plants:
  - id: CA5A0001-0000-4000-8000-000000000000
    name: Casa
    type: house
    owner: anna@example.com
    driver: simulator
    allowed: [BRUNO@example.com]
    modules:
      - {id: ca5a0001-0000-4000-8000-000000000001, name: Lamp, kind: light, state: {on: true, level: 60}}
      - id: ca5a0001-0000-4000-8000-000000000002
        name: Thermostat
        kind: chronothermostat
        state:
          {function: heating, mode: off, setPoint: 20, utcOffset: -03:30, temperature: {value: 70, unit: F, at: 1970-01-02}}
      - id: ca5a0001-0000-4000-8000-000000000003
        name: Controller
        kind: emergency controller
        alertLevel: 2
        units: [{id: ca5a0001-0000-4000-8000-000000000004, reference: 062520, failures: [BLOCK.DLD]}]
      - {id: ca5a0001-0000-4000-8000-000000000005, name: Lamp, kind: light, reachable: false}
"""


class CountingHasher:
    def __init__(self) -> None:
        self.hashed: list[str] = []

    async def hash_password(self, password: str) -> str:
        self.hashed.append(password)
        return f"hash of {password}"

    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        return password_hash == f"hash of {password}"


class TestSecrets:
    async def test_passwords_are_hashed_by_the_hasher(self) -> None:
        hasher = CountingHasher()
        estate = await build_estate(read_estate(TEXT, "x"), hasher)
        assert [user.password_hash for user in estate.users] == ["hash of anna-lights-the-lamp", "$argon2id$x", None]

    async def test_passwords_of_known_users_are_not_hashed_again(self) -> None:
        hasher = CountingHasher()
        estate = await build_estate(read_estate(TEXT, "x"), hasher, known=["anna@EXAMPLE.com"])
        assert hasher.hashed == []
        assert estate.users[0].password_hash is None

    def test_keys_and_secrets_are_kept_as_sha_256_and_a_hint(self) -> None:
        file = read_estate(TEXT, "x")
        subscription, client = file.estate.subscriptions[0], file.estate.clients[0]
        assert subscription.key_hash == hashlib.sha256(b"demo-subscription-key-0001").hexdigest()
        assert subscription.hint == "demo-s"
        assert client.secret_hash == hashlib.sha256(b"demo-app-secret-0001").hexdigest()

    def test_secrets_in_clear_text_are_available_to_the_demo_but_not_in_logs(self) -> None:
        file = read_estate(TEXT, "x")
        assert file.passwords == {file.estate.users[0].id: "anna-lights-the-lamp"}
        assert file.keys == {file.estate.subscriptions[0].id: "demo-subscription-key-0001"}
        assert file.secrets == {"demo-app": "demo-app-secret-0001"}
        assert repr(file) == "EstateFile('x')"


class TestIds:
    def test_ids_that_are_left_out_are_the_same_at_every_reading(self) -> None:
        first, second = read_estate(TEXT, "x").estate, read_estate(TEXT, "y").estate
        assert first == second

    def test_derived_ids_never_change_between_versions(self) -> None:
        estate = read_estate(TEXT, "x").estate
        assert estate.users[0].id == "eb9c44d0-184c-5d38-9c30-8694684fce28"
        assert estate.subscriptions[0].id == "7e4b4da7-d991-5eb1-8a37-78e5957c0857"
        assert estate.plants[0].plant.internal_id == "c252a377-c60b-51bf-8f86-b3d939afe759"

    def test_ids_are_kept_in_lower_case(self) -> None:
        assert read_estate(TEXT, "x").estate.plants[0].plant.id == "ca5a0001-0000-4000-8000-000000000000"

    def test_people_are_found_whatever_the_case_of_their_e_mail(self) -> None:
        estate = read_estate(TEXT, "x").estate
        plant = estate.plants[0].plant
        assert (plant.owner.user_id, plant.owner.email) == (estate.users[0].id, "Anna@example.com")
        assert plant.allowed[0].user_id == estate.users[1].id


class TestModules:
    def test_states_are_those_of_the_file(self) -> None:
        told = {state.module_id[-1]: state for state in read_estate(TEXT, "x").estate.plants[0].states}
        assert told["1"].state == LightState(on=True, level=60)
        thermostat = told["2"].state
        assert isinstance(thermostat, ThermostatState)
        assert thermostat.utc_offset_minutes == -210
        assert thermostat.temperature == Reading(70.0, Unit.FAHRENHEIT, 86400.0)
        assert told["4"].state == EmergencyState(failures=(Failure(FailureType.BLOCK_DLD),))
        assert (told["5"].state, told["5"].reachable) == (None, False)
        assert "3" not in told

    def test_units_stand_right_after_their_controller_and_make_the_plant_a_site(self) -> None:
        plant = read_estate(TEXT, "x").estate.plants[0]
        controller, unit = plant.topology.modules[2:4]
        assert controller.detail == ControllerDetail(alert_level=2)
        assert (unit.kind, unit.controller_id, unit.detail) == (DeviceKind.EMERGENCY_UNIT, controller.id, UnitDetail("062520"))
        assert plant.plant.emergency_lighting

    def test_times_count_their_offset(self) -> None:
        assert read_estate(TEXT, "x").estate.subscriptions[0].expires_at == 1794700800.0


class TestWhoMayOperateAndHowTheyProveIt:
    TEXT = """\
users:
  - {email: anna@example.com, operator: true, totpSecret: JBSWY3DPEHPK3PXP}
  - {email: bruno@example.com}
clients:
  - id: old-app
    name: Old
    secret: old-app-secret-0001
    scopes: [openid, gateway.manage]
    pkceExempt: true
    postLogoutRedirectUris: ["https://app.example/bye"]
  - {id: new-app, name: New, scopes: []}
"""

    def test_a_user_is_no_operator_and_has_one_factor_unless_told(self) -> None:
        anna, bruno = read_estate(self.TEXT, "x").estate.users
        assert (anna.operator, anna.totp_secret) == (True, "JBSWY3DPEHPK3PXP")
        assert (bruno.operator, bruno.totp_secret) == (False, None)

    def test_a_client_needs_pkce_and_sends_nobody_anywhere_after_logout_unless_told(self) -> None:
        old, new = read_estate(self.TEXT, "x").estate.clients
        assert (old.pkce_exempt, old.post_logout_redirect_uris) == (True, ("https://app.example/bye",))
        assert (new.pkce_exempt, new.post_logout_redirect_uris) == (False, ())
        assert old.scopes == ("openid", "gateway.manage")
