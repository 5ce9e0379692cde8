"""The campaigns, and how much of the time each of them gets."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from domogate.families import FAMILIES
from end_to_end.test_rights import KEY, RightsMachine, SecondProcess, first_estate
from soak.attack import attack_without_credentials
from soak.cluster import break_a_cluster, restart_postgres
from soak.contract import try_contract
from soak.faults import meet_faults
from soak.long_tests import PAGES, PROPERTIES, run_long
from soak.memory import load_evenly, send_endless_bodies
from soak.mqtt import flood_with_mqtt
from soak.mutations import try_mutants
from soak.pages import keep_a_home_open
from soak.stalls import try_while_stalling
from soak.streams import stream_to_thousands
from soak.webhooks import kill_with_webhooks
from support.fuzzing import fuzz
from support.gateway import Gateway, running, serve_estate, start
from support.kill_rounds import open_kill_rounds
from support.store_access import add_credentials

READY_WITHIN = 3.0
"""In seconds: the limit for the median start time after a kill."""
# The tokens of a ready file must be valid longer than the campaign.
LASTING = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400", "DOMOGATE_ID_TOKEN_LIFETIME": "86400"}


@dataclass(frozen=True)
class Soak:
    """The arguments of a campaign: its folder, its end, a seed, and a function that prints progress."""

    directory: Path
    end: float
    seed: int
    say: Callable[[str], None]

    def time_is_up(self) -> bool:
        return time.monotonic() >= self.end

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.end - time.monotonic())


@dataclass(frozen=True)
class Campaign:
    """One kind of long run. It raises an exception if a check fails. Otherwise it returns one line about the run."""

    about: str
    share: float
    run: Callable[[Soak], str]
    on_request: bool = False
    """If true, the campaign runs only if `--only` names it."""


def kill_again_and_again(soak: Soak) -> str:
    with open_kill_rounds(soak.directory, soak.seed) as rounds:
        while not soak.time_is_up() or not rounds.done:
            rounds.run_one()
            if rounds.done % 25 == 0:
                rounds.check_history()
                soak.say(rounds.summary)
        rounds.check_history()
        assert rounds.cut_off > 0, "no order was in progress at any kill"
        typical = median(rounds.restartable.start_times)
        assert typical <= READY_WITHIN, f"{rounds.summary}: more than {READY_WITHIN:g} s"
        return rounds.summary


def fuzz_every_family(soak: Soak) -> str:
    chance = random.Random(soak.seed)
    slugs = [family.slug for family in FAMILIES]
    requests = documents = 0
    with running(start("demo", soak.directory, LASTING)) as demo:
        while not soak.time_is_up():
            for slug in chance.sample(slugs, len(slugs)):
                if soak.time_is_up() and documents:
                    break
                number = chance.randrange(2**32)
                outcome = fuzz(demo, slug, examples=100, seed=number)
                assert not outcome.failures, f"{slug} with seed {number}: {len(outcome.failures)}\n{outcome.failures[0]}"
                requests, documents = requests + outcome.requests, documents + 1
                soak.say(f"{slug}: {outcome.requests} requests")
    return f"{requests} requests generated from {documents} documents"


def change_rights(soak: Soak) -> str:
    gateway = serve_estate(first_estate(), soak.directory, {"DOMOGATE_SIMULATOR_TICK": "3600", **LASTING})
    runs = 0
    with running(gateway):
        add_credentials(gateway, KEY)
        second_process = SecondProcess(gateway)
        try:
            while not soak.time_is_up() or not runs:
                _run_rights(gateway, second_process, soak.seed + runs)
                runs += 1
        finally:
            second_process.close()
    return f"{runs} runs of the state machine of rights"


def _run_rights(of: Gateway, by: SecondProcess, number: int) -> None:
    @seed(number)
    class OnThisGateway(RightsMachine):
        gateway, second_process = of, by

    run_state_machine_as_test(
        OnThisGateway,
        settings=settings(
            max_examples=4, stateful_step_count=40, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        ),
    )


def watch_memory(soak: Soak) -> str:
    with running(start("demo", soak.directory, LASTING)) as demo:
        return load_evenly(demo, soak.seconds_left, random.Random(soak.seed), soak.say)


def send_bodies_without_end(soak: Soak) -> str:
    with running(start("demo", soak.directory, LASTING)) as demo:
        return send_endless_bodies(demo, soak.seconds_left)


def attack(soak: Soak) -> str:
    with running(start("demo", soak.directory, LASTING)) as demo:
        return attack_without_credentials(demo, soak.seconds_left, random.Random(soak.seed), soak.say)


def flood_by_mqtt(soak: Soak) -> str:
    return flood_with_mqtt(soak.directory, soak.seconds_left, soak.seed, soak.say)


def stream_events(soak: Soak) -> str:
    return stream_to_thousands(soak.directory, soak.seconds_left, soak.seed, soak.say)


def keep_a_page_open(soak: Soak) -> str:
    return keep_a_home_open(soak.directory, soak.seconds_left, soak.seed, soak.say)


def kill_between_deliveries(soak: Soak) -> str:
    return kill_with_webhooks(soak.directory, soak.seconds_left, soak.seed, soak.say)


def fault_again_and_again(soak: Soak) -> str:
    return meet_faults(soak.directory, soak.seconds_left, soak.seed, soak.say)


def fault_a_cluster(soak: Soak) -> str:
    return break_a_cluster(soak.directory, soak.seconds_left, soak.seed, soak.say)


def restart_database_of_a_cluster(soak: Soak) -> str:
    return restart_postgres(soak.directory, soak.seconds_left, soak.seed, soak.say)


def try_every_property(soak: Soak) -> str:
    return run_long(PROPERTIES, soak.time_is_up, random.Random(soak.seed), soak.say)


def look_at_every_page(soak: Soak) -> str:
    return run_long(PAGES, soak.time_is_up, random.Random(soak.seed), soak.say)


def try_contract_on_a_cluster(soak: Soak) -> str:
    return try_contract(soak.time_is_up, soak.say)


def stall_again_and_again(soak: Soak) -> str:
    return try_while_stalling(soak.time_is_up, random.Random(soak.seed), soak.say)


def change_the_code(soak: Soak) -> str:
    return try_mutants(soak.time_is_up, soak.directory, random.Random(soak.seed), soak.say)


CAMPAIGNS = {
    "kills": Campaign("kill -9 during commands", 0.5, kill_again_and_again),
    "fuzzing": Campaign("random requests generated from the OpenAPI documents of the families", 0.2, fuzz_every_family),
    "rights": Campaign("users, plants and changing rights", 0.1, change_rights),
    "properties": Campaign("properties with many examples, and tests with all their variants", 0.1, try_every_property),
    "memory": Campaign("mixed load; memory stays flat", 0.15, watch_memory),
    "mqtt": Campaign("a flood of MQTT messages; reads stay fast, memory stays flat", 0.15, flood_by_mqtt),
    "streams": Campaign("2,000 listeners and 200 changes a second; reads stay fast", 0.1, stream_events),
    "pages": Campaign("a home in a browser for as many events as in a day; memory stays flat", 0.15, keep_a_page_open),
    "looks": Campaign("every page in all widths and both colour schemes; no barriers", 0.15, look_at_every_page),
    "webhooks": Campaign("kill -9 during deliveries to many receivers", 0.15, kill_between_deliveries),
    "faults": Campaign("faults of disk, database, process and clock; nothing acknowledged is lost", 0.3, fault_again_and_again),
    "cluster": Campaign("three gateways on PostgreSQL and NATS; faults of processes, servers and clocks", 0.3, fault_a_cluster),
    "postgres-restarts": Campaign(
        "20 restarts of the database of a cluster; ready again within 5 s", 0.15, restart_database_of_a_cluster
    ),
    "stalls": Campaign("the tests while their processes are paused again and again", 0.15, stall_again_and_again),
    "contract": Campaign("the contract suite on a cluster, a random gateway for each request", 0.15, try_contract_on_a_cluster),
    "bodies": Campaign("endless request bodies; memory stays flat", 0.05, send_bodies_without_end),
    "attack": Campaign("loads without credentials; memory comes back, health checks are answered", 0.2, attack),
    "mutations": Campaign("small changes of the code that a test must notice", 1.0, change_the_code, on_request=True),
}
