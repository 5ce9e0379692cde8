"""Compares the answers that people get from two databases, for `domogate move`.

It compares the answers of the families' read operations, encoded as clients get them.
"""

from math import inf

from domogate.domain.ids import Id
from domogate.domain.people import GrantType, Principal, Scope, Standing, TokenKind
from domogate.domain.states import Report
from domogate.fabric.in_process import InProcessFabric
from domogate.families._call import ReadServices
from domogate.families.reading import Choose, Reader, Reads
from domogate.ports import Store
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import ReadModel

_MOST_MODULES = 10_000


class _StoppedClock:
    """Always gives the same time. With a running clock, two answers that contain the time would differ, even if the two
    databases have the same data.
    """

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


class _NoDevices(InProcessFabric):
    """A fabric that asks no device, so that the stored state of each module stays as it is."""

    async def read(self, plant_id: Id, module_id: Id, _deadline: float) -> Report:
        return Report(plant_id, module_id, -1.0)


def _open(store: Store, now: float) -> ReadServices:
    clock = _StoppedClock(now)
    control = Control(_NoDevices(clock), store, clock, deadline=1.0, max_age=inf, max_ages={})
    return ReadServices(
        read_model=ReadModel(store, max_modules=_MOST_MODULES), control=control, clock=clock, removed_plants_kept=inf
    )


def _person(user_id: Id) -> Principal:
    return Principal(
        user_id,
        "",
        Id(""),
        TokenKind.ACCESS,
        frozenset(Scope),
        inf,
        GrantType.AUTHORIZATION_CODE,
        access_token_everywhere=True,
        standing=Standing.GOOD,
    )


class DifferentAnswers(Exception):
    """The answers of the two databases differ. The message names the operation, or a plant that only one database shows."""


class TwoDatabases:
    """Compares what one person can read from two databases, operation by operation."""

    def __init__(self, old: Store, new: Store, now: float) -> None:
        self._services = _open(old, now), _open(new, now)

    async def compare_person(self, user_id: Id, choose: Choose) -> int:
        """Compare what this person can read from both databases: the lists of plants, and the plants that `choose` selects.

        Return the number of compared answers. Raises DifferentAnswers at the first operation whose answers differ. Also raises
        it at the first plant that only one database shows to the person.
        """
        old, new = (Reader(services, _person(user_id)) for services in self._services)
        answers = await _compare(old.list_own_reads(), new.list_own_reads())
        person = await self._services[0].read_model.get_person(user_id)
        for plant_id in choose([plant.id for plant in person.plants]):
            before, after = await old.find_plant(plant_id), await new.find_plant(plant_id)
            if before is not None and after is not None:
                sample = choose(list(before.modules))
                answers += await _compare(old.list_reads(before, sample), new.list_reads(after, sample))
            elif before is not after:
                raise DifferentAnswers(f"plant {plant_id}")
        return answers


async def _compare(old: Reads, new: Reads) -> int:
    """Run each read on both databases and compare the answers.

    Return the number of compared answers. Raises DifferentAnswers at the first operation whose answers differ.
    """
    for name, read in old.items():
        if name not in new or await read() != await new[name]():
            raise DifferentAnswers(name)
    return len(old)
