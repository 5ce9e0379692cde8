"""docs/openwebnet.md agrees with the driver."""

import re
from pathlib import Path

import yaml

from domogate.domain.devices import DeviceKind
from domogate.drivers.openwebnet import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import KINDS, find_option_problems
from support.markdown import section, tables

TEXT = (Path(__file__).parents[3] / "docs" / "openwebnet.md").read_text()


def test_its_modules_could_be_driven() -> None:
    (written,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    modules = yaml.safe_load(written)["modules"]
    assert {module["kind"] for module in modules} >= {"light", "plug", "automation", "chronothermostat", "energymeter", "lock"}
    for module in modules:
        assert list(find_option_problems(DeviceKind(module["kind"]), module.get("options", {}))) == []


def test_it_has_every_kind_with_its_options() -> None:
    kinds, options = tables(section(TEXT, "Modules"))
    assert [row["kind"] for row in kinds] == [str(kind) for kind in sorted(KINDS, key=[row["kind"] for row in kinds].index)]
    for row in kinds:
        told = row["options besides `gateway` and `who`"]
        variants = KINDS[DeviceKind(row["kind"])]
        needed = {name for variant in variants for name in variant.needs}
        assert set(re.findall(r"\*\*(\w+)\*\*", told)) == needed
        taken = {name for variant in variants for name in variant.takes} - {"gateway", "who"}
        assert set(re.findall(r"\w+", told.replace("with `who: 0`", ""))) == taken
    assert {row["option"] for row in options} == {name for variants in KINDS.values() for it in variants for name in it.takes}


def test_it_has_every_field_of_a_gateway() -> None:
    (fields,) = tables(section(TEXT, "Settings of a gateway"))
    assert [row["field"].strip("*") for row in fields] == list(OpenWebNetGateway.__struct_fields__)
