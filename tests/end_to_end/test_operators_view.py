"""The data that an operator sees of a real gateway through the management API."""

import pytest

from support.certification import Operator
from support.gateway import Gateway
from support.spec_operations import E1, E8
from support.stream_reader import StreamReader, data_of

pytestmark = pytest.mark.slow


class TestTheOverview:
    def test_requests_are_counted_by_api(self, identity: Gateway, operator: Operator) -> None:
        who, target = identity.case(E8)
        assert identity.send(E8, target, who=who).status_code == 200
        assert identity.api.http.get("/homeauto/v1.0/nothing").status_code == 404
        operator.send("GET", "/users")
        found = operator.send("GET", "/overview")
        requests = found["lastHour"]["requests"]
        assert requests["homeauto"]["statuses"].keys() >= {"200", "404"}
        assert requests["homeauto"]["p99Ms"] > 0
        assert requests["management"]["statuses"]["200"] >= 1
        assert requests["auth"]["statuses"]
        assert found["plants"]["active"] >= 4
        assert found["modules"]["total"] > 50


class TestEvents:
    def test_an_operator_sees_the_events_of_a_plant_of_others(self, identity: Gateway, operator: Operator) -> None:
        who, target = identity.case(E1)
        reader = StreamReader(identity, operator.token, key="none", path="/manage/v1/events", query="?kind=state")
        reader.wait_named("ready")
        assert identity.send(E1, target, who=who).status_code == 200
        event = reader.wait_for(lambda event: data_of(event)["plantId"] == target["plant"])
        assert data_of(event)["moduleId"]
        reader.close()
