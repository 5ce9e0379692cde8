from collections.abc import Iterator

import pytest

from support.gateway import running, start
from support.receivers import ThreadedReceiver
from support.sdk_demo import SdkDemo


@pytest.fixture
def sdk_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SdkDemo]:
    receiver = ThreadedReceiver()
    with running(start("demo", tmp_path_factory.mktemp("sdk"))) as gateway:
        yield SdkDemo(gateway, receiver)
    receiver.close()
