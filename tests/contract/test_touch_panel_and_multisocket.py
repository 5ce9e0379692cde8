"""E14 and E16 (Spec 2.3, 2.14); E15 is with the other ticket in test_door_entry."""

from support.gateway import Gateway
from support.http import expect_nothing, expect_ok, expect_refusal
from support.spec_operations import E14, E16


class TestE14ListPlants:
    def test_each_user_in_good_standing_sees_exactly_their_active_plants(self, demo: Gateway) -> None:
        for who in demo.good_people:
            mine = {plant.id: plant.record["name"] for plant in demo.estate.active_plants_of(who)}
            answer = demo.send(E14, who=who)
            if mine:
                assert {plant["id"]: plant["name"] for plant in expect_ok(E14, answer)["plants"]} == mine
            else:
                expect_nothing(E14, answer)

    def test_a_user_without_plants_gets_204_and_no_body(self, demo: Gateway) -> None:
        expect_nothing(E14, demo.send(E14, who=demo.nobody))


class TestE16Plugs:
    def test_plugs_have_one_boolean_and_multisockets_one_a_socket(self, demo: Gateway) -> None:
        wide = 0
        for who, target in demo.cases(E16):
            plant = demo.estate.plant(target["plant"])
            plugs = {plug["id"]: plug for plug in expect_ok(E16, demo.send(E16, target, who=who))["plugs"]}
            modules = {module["id"]: module for module in plant.modules("plug", "multisocket")}
            assert plugs.keys() == modules.keys()
            for identity, module in modules.items():
                assert plugs[identity]["name"] == module["name"]
                if module["kind"] == "plug":
                    assert len(plugs[identity]["status"]) == 1
                else:
                    wide = max(wide, len(plugs[identity]["status"]))
        assert wide > 1

    def test_a_plant_without_plugs_is_404(self, demo: Gateway) -> None:
        mine = demo.estate.find_plants(lambda plant: plant.owner in demo.good_people)
        plant = next(plant for plant in mine if not plant.modules("plug", "multisocket"))
        expect_refusal(E16, demo.send(E16, {"plant": plant.id}, who=plant.owner), 404)
