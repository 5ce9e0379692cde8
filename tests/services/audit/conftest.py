from collections.abc import AsyncIterator

import pytest

from domogate.services.audit import AuditLog
from support.auditing import USER, MemoryAuditStore
from support.stores import HandClock


@pytest.fixture
def store() -> MemoryAuditStore:
    return MemoryAuditStore(USER)


@pytest.fixture
async def log(store: MemoryAuditStore) -> AsyncIterator[AuditLog]:
    log = AuditLog(store, HandClock(), gather=0.0, retry=0.0)
    await log.start()
    yield log
    await log.stop()
