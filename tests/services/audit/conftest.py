from collections.abc import AsyncIterator

import pytest

from domogate.services.audit.log import AuditLog
from support.auditing import USER, ChainInMemory
from support.stores import HandClock


@pytest.fixture
def store() -> ChainInMemory:
    return ChainInMemory(USER)


@pytest.fixture
async def log(store: ChainInMemory) -> AsyncIterator[AuditLog]:
    log = AuditLog(store, HandClock(), gather=0.0, retry=0.0)
    await log.start()
    yield log
    await log.stop()
