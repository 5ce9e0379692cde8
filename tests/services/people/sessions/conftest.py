from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.auth_setup import AuthSetup, open_auth_setup


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[AuthSetup]:
    async with open_auth_setup(tmp_path) as built:
        yield built
