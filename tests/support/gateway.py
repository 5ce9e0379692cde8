"""A real gateway in a separate process, and pytest fixtures for it."""

import json
import os
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from support.estate_view import EstateView, PlantView, asked_of, read_yaml, targets_in
from support.http import PATIENCE, Api, client
from support.processes import CLI, Process, launch, run
from support.spec_operations import E1, E2, E4, E12, E16, Operation, Target

START_DEADLINE = COMMAND_DEADLINE = 240.0
STOP_DEADLINE = PATIENCE


@dataclass(frozen=True)
class Person:
    """A user with the tokens of the ready file."""

    email: str
    password: str
    id_token: str
    access_token: str

    def token_for(self, operation: Operation) -> str:
        return self.access_token if operation.token == "access" else self.id_token


def run_command(arguments: list[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return run(arguments, environment, COMMAND_DEADLINE)


_DEMO_ESTATE: list[EstateView] = []


@dataclass
class Gateway:
    """A running gateway with helpers to call it."""

    process: Process
    data: Path
    log_file: Path
    ready: dict[str, Any]
    environment: dict[str, str]
    is_demo: bool = False
    early: dict[str, Any] = field(default_factory=dict)
    """Readings right after the start."""
    minted: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return str(self.ready["base_url"])

    @property
    def auth_url(self) -> str:
        return str(self.ready["auth_url"])

    @property
    def subscription_key(self) -> str:
        return str(self.ready["subscription_key"])

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @cached_property
    def people(self) -> dict[str, Person]:
        """Users by e-mail; only those who have tokens."""
        return {
            user["email"]: Person(user["email"], user["password"], user["id_token"], user["access_token"])
            for user in self.ready["users"]
            if user.get("id_token")
        }

    @cached_property
    def api(self) -> Api:
        return Api(self.base_url, self.subscription_key)

    @cached_property
    def estate(self) -> EstateView:
        """The estate at the start, which is the same for every demo. `export` gives the current one."""
        if not self.is_demo:
            return self.export()
        if not _DEMO_ESTATE:
            _DEMO_ESTATE.append(self.export())
        return _DEMO_ESTATE[0]

    def export(self) -> EstateView:
        return EstateView(read_yaml(self.domogate("estate", "export")))

    def domogate(self, *arguments: str) -> str:
        """Run a command on this gateway's data and return its output. A failing command fails the test."""
        done = run_command([*arguments, "--data", str(self.data)], self.environment)
        assert done.returncode == 0, f"domogate {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def send(self, operation: Operation, target: Target | None = None, *, who: str | None = None, **how: Any) -> httpx.Response:
        """Call as this user; by default the first user in good standing."""
        if "token" not in how:
            how["token"] = self.people[who or self.anyone].token_for(operation)
        return self.api.send(operation, target, **how)

    def plug_states(self, plant: PlantView) -> dict[str, list[bool]]:
        """The states of the plant's plugs by id, from the multisocket family (E16)."""
        answer = self.send(E16, {"plant": plant.id}, who=self.a_person_of(plant))
        assert answer.status_code == 200, answer.text
        return {plug["id"]: plug["status"] for plug in answer.json()["plugs"]}

    # users and targets

    @cached_property
    def good_people(self) -> list[str]:
        good = [email for email in self.people if self.estate.standing(email) == "good"]
        assert good, "the estate has no user in good standing"
        return good

    @property
    def anyone(self) -> str:
        return self.good_people[0]

    @cached_property
    def nobody(self) -> str:
        """A user in good standing without plants."""
        return next(mail for mail in self.good_people if not any(mail in plant.people for plant in self.estate.plants))

    def a_person_of(self, plant: PlantView) -> str:
        return next(mail for mail in (plant.owner, *sorted(plant.people)) if mail in self.good_people)

    def a_stranger_to(self, plant: PlantView) -> str:
        """A user with other plants but not this one."""
        strangers = [mail for mail in self.good_people if mail not in plant.people]
        return next((mail for mail in strangers if self.estate.active_plants_of(mail)), strangers[0])

    def cases(self, operation: Operation) -> list[tuple[str, Target]]:
        """All users and targets for which the operation answers. At least one must exist, or a test would check nothing."""
        found = list(self._find_cases(operation))
        assert found, f"the estate has no case of {operation}"
        return found

    def _find_cases(self, operation: Operation) -> Iterator[tuple[str, Target]]:
        """E2 also answers for remotes that cannot be reached: they come last."""
        if operation.name == "E19":
            for reference in self.estate.references():
                yield self.anyone, {"reference": reference}
        elif not operation.about_a_plant:
            for mail in self.good_people:
                yield mail, {}
        later = []
        for plant in self.estate.find_plants(lambda plant: bool(plant.people & set(self.good_people))):
            who = self.a_person_of(plant)
            for target in targets_in(plant, operation):
                if not any(self.estate.unreachable(module) for module in asked_of(plant, target)):
                    yield who, target
                elif operation is E2 and not any(self.estate.troubled(module) for module in asked_of(plant, target)):
                    later.append((who, target))
        yield from later

    def case(self, operation: Operation) -> tuple[str, Target]:
        """A user and target that give 200."""
        if operation.name == "E17":
            return self.a_person_of(self.estate.find_plants(lambda plant: plant.is_site)[0]), {}
        if operation.name in ("E6", "E10", "E14"):
            return self.a_person_of(self.estate.find_plants(lambda plant: plant.owner in self.good_people)[0]), {}
        if operation.name == "E18":
            return next(
                (mail, target)
                for mail, target in self.cases(operation)
                if self.estate.plant(target["plant"]).modules("emergency controller")
            )
        return self.cases(operation)[0]

    def stop(self) -> None:
        if "api" in self.__dict__:
            self.api.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the gateway did not stop when told to:\n{self.log[-4000:]}") from None


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process without settings of the gateway, plus those of the test."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOMOGATE_")}
    return {**inherited, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200", **settings}


def _wait_until_ready(process: Process, ready_file: Path, log_file: Path) -> dict[str, Any]:
    deadline = time.monotonic() + START_DEADLINE
    while time.monotonic() < deadline:
        if ready_file.exists():
            return dict(json.loads(ready_file.read_text()))
        if process.poll() is not None:
            raise AssertionError(f"the gateway ended with {process.returncode}:\n{log_file.read_text()[-4000:]}")
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise AssertionError(f"the gateway was not ready in {START_DEADLINE:.0f} s:\n{log_file.read_text()[-4000:]}")


def start(
    command: str,
    directory: Path,
    settings: Mapping[str, str] | None = None,
    *,
    new_interpreter: bool = False,
    own_data: bool = True,
    module: str = CLI,
    flags: Sequence[str] = (),
    port: int = 0,
) -> Gateway:
    """`domogate demo` or `domogate serve` with its data and its log in `directory`.

    `new_interpreter` and `module` as in `launch`. Without `own_data` the demo keeps its data in a temporary folder. Give a
    `free_port()` if another gateway gets the port later: the system may give the port that it chose to another program.
    """
    directory.mkdir(parents=True, exist_ok=True)
    data, log_file, ready_file = directory / "data", directory / "gateway.log", directory / "ready.json"
    ready_file.unlink(missing_ok=True)
    environment = _environment(settings or {})
    # Standard output can have credentials of the demo, so it does not go into the log file.
    with log_file.open("ab") as log, (directory / "greeting.txt").open("ab") as greeting:
        where = ["--data", str(data)] if own_data else []
        arguments = [command, *flags, "--port", str(port), "--ready-file", str(ready_file), *where]
        process = launch(arguments, environment, greeting, log, new_interpreter=new_interpreter, module=module)
    ready = _wait_until_ready(process, ready_file, log_file)
    return Gateway(process, data, log_file, ready, environment, is_demo=command == "demo")


def serve_estate(document: dict[str, Any], directory: Path, settings: Mapping[str, str] | None = None) -> Gateway:
    """A gateway without the demo: import this estate into an empty store, then `domogate serve` it."""
    directory.mkdir(parents=True, exist_ok=True)
    import_estate(document, directory, directory / "data", _environment(settings or {}))
    return start("serve", directory, settings)


def import_estate(
    document: dict[str, Any], directory: Path, data: Path, environment: Mapping[str, str] | None = None, *flags: str
) -> None:
    """Plants that name no driver are simulated."""
    plants = [{"driver": "simulator", **plant} for plant in document.get("plants", ())]
    document = {**document, "plants": plants} if plants else document
    estate_file = directory / "estate.yaml"
    estate_file.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
    done = run_command(["estate", "import", str(estate_file), "--data", str(data), *flags], environment or _environment({}))
    assert done.returncode == 0, f"the estate was refused:\n{done.stdout}{done.stderr}\n{estate_file.read_text()}"


def order_states(data: Path) -> Counter[str]:
    """The number of stored orders in each state."""
    with closing(sqlite3.connect(f"{(data / 'domogate.sqlite3').as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        return Counter(dict(connection.execute("SELECT state, count(*) FROM orders GROUP BY state").fetchall()))


def eventually(check: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until a condition is true, but not longer than `patience` seconds."""
    deadline = time.monotonic() + patience
    while not check():
        assert time.monotonic() < deadline, f"not true after {patience:.0f} s: {what}"
        time.sleep(0.1)


@contextmanager
def running(gateway: Gateway) -> Iterator[Gateway]:
    try:
        yield gateway
    finally:
        gateway.stop()


LASTING = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400", "DOMOGATE_ID_TOKEN_LIFETIME": "86400"}
"""The tokens of the ready file are valid as long as a test run may take."""
Starter = Callable[[str, Path, Mapping[str, str]], Gateway]
_SHARED = pytest.StashKey[dict[str, Gateway]]()


def shared_gateway(request: pytest.FixtureRequest, name: str, settings: Mapping[str, str], start: Starter = start) -> Gateway:
    """One gateway of that name for the whole test run."""
    gateways = request.config.stash.setdefault(_SHARED, {})
    if name not in gateways:
        folder = request.getfixturevalue("tmp_path_factory").mktemp(name)
        gateways[name] = start("demo", folder, settings)
        request.config.add_cleanup(gateways[name].stop)
    return gateways[name]


@pytest.fixture(scope="session")
def demo(request: pytest.FixtureRequest) -> Gateway:
    """A shared demo with default settings; only its tokens live longer. Tests only read from it, or undo their changes."""
    return shared_gateway(request, "demo", LASTING)


# Every read asks the device. Timeouts are shorter than the defaults, but long enough for a machine that pauses for a second.
QUICK = {
    "DOMOGATE_DEVICE_DEADLINE": "3",
    "DOMOGATE_STATE_MAX_AGE": "0.001",
    "DOMOGATE_SIMULATOR_TICK": "0.5",
    "DOMOGATE_HEADER_DEADLINE": "3",
    "DOMOGATE_BODY_DEADLINE": "4",
    "DOMOGATE_KEEP_ALIVE": "8",  # longer than httpx keeps an idle connection
}


@pytest.fixture(scope="session")
def workshop(request: pytest.FixtureRequest) -> Gateway:
    """A demo for tests that change devices, people and keys. Each test undoes its changes."""
    gateway = shared_gateway(request, "workshop", {**QUICK, **LASTING})
    gateway.early = gateway.early or readings_now(gateway)
    return gateway


def readings_now(gateway: Gateway) -> dict[str, Any]:
    """Current readings of a plug and a thermostat that no test changes."""
    disturbed = gateway.case(E1)[1]["plant"]
    who, plug = next(
        (who, target)
        for who, target in gateway.cases(E4)
        if target["plant"] != disturbed
        and asked_of(gateway.estate.plant(target["plant"]), target)[0].get("state", {}).get("on")
    )
    consumptions = gateway.send(E4, plug, who=who).json()["consumptions"]
    who, thermostat = gateway.case(E12)
    status = gateway.send(E12, thermostat, who=who).json()["chronothermostats"][0]
    return {"E4": consumptions, "E12": [status["thermometer"], status["hygrometer"]]}


@pytest.fixture
def web(demo: Gateway) -> Iterator[httpx.Client]:
    """A plain HTTP client for the demo, without key and token."""
    with client(demo.base_url) as bare:
        yield bare
