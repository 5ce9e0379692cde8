from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.pages import House, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built
