"""Packages whose names are imported when they are first used (Decision 0098)."""

from importlib import import_module
from operator import attrgetter

import pytest


@pytest.mark.parametrize("package", ["domogate.app", "domogate.management", "domogate.services.people", "domogate.stores"])
def test_a_package_has_every_name_that_it_lists(package: str) -> None:
    module = import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_an_unknown_name_is_refused_with_the_name_of_the_package() -> None:
    with pytest.raises(AttributeError, match=r"'domogate.app' has no attribute 'nothing'"):
        attrgetter("nothing")(import_module("domogate.app"))
