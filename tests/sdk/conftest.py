from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gateway import Gateway, running, start
from support.sdk_demo import SdkDemo, open_sdk_demo
from support.typescript_client import build_package


@pytest.fixture
def sdk_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SdkDemo]:
    with open_sdk_demo(tmp_path_factory.mktemp("sdk")) as demo:
        yield demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway for the tests of the clients. They log in, register webhooks and switch lights."""
    with running(start("demo", tmp_path_factory.mktemp("client"), {"DOMOGATE_REFRESH_GRACE": "300"})) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def typescript_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose programs can import the TypeScript client."""
    return build_package(tmp_path_factory.mktemp("typescript"))
