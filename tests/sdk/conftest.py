import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.built_once import build_once
from support.gateway import Gateway, running, start
from support.sdk_demo import SdkDemo, open_sdk_demo
from support.typescript_client import build_with_program


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
    """A folder whose programs can import the TypeScript client.

    Each test process has its own copy, because tests write files there.
    """
    built = build_once(tmp_path_factory, "typescript-client", build_with_program)
    return shutil.copytree(built, tmp_path_factory.mktemp("typescript"), dirs_exist_ok=True)
