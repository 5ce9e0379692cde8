import msgspec
import pytest

from domogate.domain.faults import WrongMethod, WrongUrl
from domogate.domain.ids import new_id
from domogate.families import FAMILIES
from domogate.families._family import PLACEHOLDER, Family, Operation
from domogate.families._routes import Routes

_ALL = [(family, operation) for family in FAMILIES for operation in family.operations]


class TestRoutes:
    @pytest.mark.parametrize(("family", "operation"), _ALL, ids=[operation.id for _, operation in _ALL])
    def test_every_operation_is_found_with_its_parameters(self, family: Family, operation: Operation) -> None:
        identity = new_id()
        values = {role: family.ids.print_id(identity) for role in ("plant", "ambient", "module", "subscription")} | {
            "reference": "062520"
        }
        path = f"{family.prefix}/{PLACEHOLDER.sub(lambda match: values[match[2]], operation.path)}".encode()
        target = Routes(family).parse(operation.method, path)
        assert target.malformed is None
        assert target.operation is operation
        for parameter in operation.parameters:
            if parameter.role == "reference":
                assert target.reference == "062520"
            else:
                assert getattr(target, f"{parameter.role}_id") == identity

    def test_a_malformed_id_is_returned_and_not_raised(self) -> None:
        target = Routes(FAMILIES[1]).parse("GET", b"/homeauto/v1.0/plants/x/topology")
        assert target.operation.id == "E7"
        assert target.malformed is not None
        assert target.malformed.startswith("plantId must be a UUID")

    @pytest.mark.parametrize(
        "path",
        [
            b"/homeauto/v1.0/plants/",
            b"/homeauto/v1.0//plants",
            b"/homeauto/v1.0/Plants",
            b"/homeauto/v1.0/x/../plants",
            b"/homeauto/v1.0/%2e%2e/v1.0/plants",
            b"/homeauto/v1.0/plants/a%2Fb",
            b"/homeauto/v1x0/plants",
            b"/homeauto/v1.0/plants//topology",
            b"/homeauto/v1.0/plants/a/b/topology",
        ],
    )
    def test_no_other_path_is_one(self, path: bytes) -> None:
        with pytest.raises(WrongUrl):
            Routes(FAMILIES[1]).parse("GET", path)

    @pytest.mark.parametrize(
        ("path", "name"),
        [(b"/homectl/api/v1.0/plants/", "X5"), (b"/thermostat/v2.0/plants/", "X3"), (b"/thermostat/v2.0/subscription/", "X7")],
    )
    def test_a_list_that_is_an_extension_may_end_with_a_slash(self, path: bytes, name: str) -> None:
        family = next(family for family in FAMILIES if path.decode().startswith(f"{family.prefix}/"))
        assert Routes(family).parse("GET", path).operation.id == name
        with pytest.raises(WrongUrl):
            Routes(family).parse("GET", path + b"/")

    def test_an_encoded_slash_stays_in_its_parameter(self) -> None:
        target = Routes(FAMILIES[7]).parse("GET", b"/emergency-lighting/module/a%2Fb%20c/spare-parts")
        assert target.reference == "a/b c"

    def test_another_method_is_told_which_there_are(self) -> None:
        with pytest.raises(WrongMethod) as refusal:
            Routes(FAMILIES[1]).parse("DELETE", b"/homeauto/v1.0/plants")
        assert refusal.value.allow == "GET, HEAD"

    def test_percent_encoding_that_is_no_text_is_refused(self) -> None:
        target = Routes(FAMILIES[7]).parse("GET", b"/emergency-lighting/module/%ff/spare-parts")
        assert target.malformed == "reference has percent-encoded bytes that are not UTF-8"


class TestKeptPaths:
    def path(self, number: int, length: int = 1) -> bytes:
        return b"/emergency-lighting/module/%d%b/spare-parts" % (number, b"x" * length)

    def test_a_path_is_kept_only_when_told(self) -> None:
        routes, request = Routes(FAMILIES[7]), ("GET", self.path(1))
        target = routes.parse(*request)
        assert routes.find_kept(request) is None
        routes.keep(request, target)
        assert routes.find_kept(request) is target

    @pytest.mark.parametrize("length", [1, 30_000])
    @pytest.mark.slow
    def test_they_are_bounded_by_their_bytes_and_the_oldest_goes(self, length: int) -> None:
        routes = Routes(FAMILIES[7])
        requests = [("GET", self.path(number, length)) for number in range(10_000)]
        for request in requests:
            routes.keep(request, routes.parse("GET", self.path(1)))
        kept = [request for request in requests if routes.find_kept(request)]
        assert kept == requests[-len(kept) :]
        assert 0 < sum(len(path) + 500 for _, path in kept) <= 4_000_000

    def test_as_many_are_kept_as_fit_exactly(self) -> None:
        routes = Routes(FAMILIES[7])
        requests = [("GET", b"%0300d" % number) for number in range(5_010)]
        target = routes.parse("GET", self.path(1))
        for request in requests:
            routes.keep(request, msgspec.structs.replace(target))
        assert [request for request in requests if routes.find_kept(request)] == requests[-4_000_000 // (500 + 300) :]

    def test_one_that_is_kept_twice_counts_once(self) -> None:
        routes = Routes(FAMILIES[7])
        first = ("GET", self.path(0))
        for _ in range(10_000):
            routes.keep(first, routes.parse(*first))
        second = ("GET", self.path(1))
        routes.keep(second, routes.parse(*second))
        assert routes.find_kept(first)
        assert routes.find_kept(second)
