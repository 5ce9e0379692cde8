from collections.abc import AsyncIterator

import pytest

from domogate.services.audit import AuditLog
from support.audit_store import USER, MemoryAuditStore
from support.clocks import ManualClock


@pytest.fixture
def store() -> MemoryAuditStore:
    return MemoryAuditStore(USER)


@pytest.fixture
async def log(store: MemoryAuditStore) -> AsyncIterator[AuditLog]:
    log = AuditLog(store, ManualClock(), gather=0.0, retry=0.0)
    log.start()
    yield log
    await log.stop()
