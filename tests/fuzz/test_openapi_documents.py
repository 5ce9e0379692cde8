"""Schemathesis with the nine OpenAPI documents finds no failure on a real server."""

from typing import Any

import pytest

from domogate.families import FAMILIES
from support.examples import examples
from support.extension_operations import WITH_EXTENSIONS
from support.fuzzing import fuzz, list_documents, refuses_light_order
from support.gateway import Gateway

pytestmark = pytest.mark.slow

SLUGS = [family.slug for family in FAMILIES]
EXAMPLES = examples(4)
USUALLY = {"X6": 400, "X7": 204, "X8": 404}
"""Random URLs cannot be called, so no subscription exists that could be listed or ended."""


class TestTheIndex:
    def test_it_lists_the_nine_documents_and_those_of_our_own_surfaces(self, demo: Gateway) -> None:
        assert list(list_documents(demo.base_url)) == [
            *SLUGS,
            "home",
            "events",
            "webhooks",
            "tickets",
            "developer",
            "management",
        ]
        assert len(SLUGS) == 9

    def test_it_answers_with_and_without_a_slash(self, demo: Gateway) -> None:
        plain, slashed = (demo.api.http.get(path) for path in ("/openapi", "/openapi/"))
        assert (plain.status_code, slashed.status_code) == (200, 200)
        assert plain.content == slashed.content

    def test_every_document_that_it_lists_is_there(self, demo: Gateway) -> None:
        for url in list_documents(demo.base_url).values():
            assert demo.api.http.get(url).json()["openapi"].startswith("3.1")


class TestEveryDocument:
    @pytest.mark.parametrize("slug", SLUGS)
    def test_the_gateway_does_what_it_says(self, demo: Gateway, slug: str) -> None:
        outcome = fuzz(demo, slug, examples=EXAMPLES)
        assert not outcome.failures, f"{len(outcome.failures)} failures, the first:\n{outcome.failures[0]}"
        for name, statuses in outcome.answers.items():
            usual = USUALLY.get(name, 200)
            assert statuses[usual] > 0, f"{name} was never asked so that it answered {usual}: {dict(statuses)}"
            assert statuses[401] > 0, f"{name} was never asked without credentials: {dict(statuses)}"
            if WITH_EXTENSIONS[name].about_a_plant:
                assert statuses.keys() & {400, 404}, f"{name} was never asked about what does not exist: {dict(statuses)}"


class TestTheException:
    """A 400 of X2 is excused only where the contract refuses the command (Decision 0067)."""

    COLOR = {"H": 0, "S": 0, "V": 40}

    @pytest.mark.parametrize(
        ("order", "light"),
        [
            ({"status": "on", "level": 0}, {"level": 1, "colorHSV": COLOR}),
            ({"status": "on", "colorHSV": COLOR | {"V": 0}}, {"level": 1, "colorHSV": COLOR}),
            ({"level": 40}, {}),
            ({"status": "off", "level": 40, "colorHSV": COLOR}, {"level": 1}),
        ],
    )
    def test_what_a_light_refuses_is_excused(self, order: dict[str, Any], light: dict[str, Any]) -> None:
        assert refuses_light_order(order, lambda: light)

    @pytest.mark.parametrize(
        ("order", "light"),
        [
            ({"status": "on"}, {}),
            ({"level": 0}, {"level": 1}),
            ({"status": "off", "level": 0}, {"level": 1}),
            ({"status": "on", "level": 40, "colorHSV": COLOR | {"V": 0}}, {"level": 1, "colorHSV": COLOR}),
            ({"colorHSV": COLOR}, {"level": 1, "colorHSV": COLOR}),
        ],
    )
    def test_what_a_light_can_do_is_not(self, order: dict[str, Any], light: dict[str, Any]) -> None:
        assert not refuses_light_order(order, lambda: light)
