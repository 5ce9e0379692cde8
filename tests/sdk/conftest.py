from collections.abc import Iterator

import pytest

from support.sdk_demo import SdkDemo, open_sdk_demo


@pytest.fixture
def sdk_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SdkDemo]:
    with open_sdk_demo(tmp_path_factory.mktemp("sdk")) as demo:
        yield demo
