"""The table of rules in docs/conformance.md is made from the rules.

`python -m conformance_tool.test_documented_rules`, with PYTHONPATH=tests, writes it.
"""

from pathlib import Path

from domogate.conformance.run import all_rules

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
BEGIN, END = "<!-- rules -->", "<!-- end of rules -->"


def table() -> str:
    rows = [f"| `{rule.id}` | {rule.sentence} |" for rule in all_rules()]
    return "\n".join(["| rule | sentence of the contract |", "|---|---|", *rows])


def test_the_page_lists_every_rule() -> None:
    page = PAGE.read_text()
    assert page.split(BEGIN)[1].split(END)[0].strip() == table()


def test_the_page_says_how_many_rules_there_are() -> None:
    assert f"There are {len(all_rules())} rules." in PAGE.read_text()


def test_a_rule_has_one_sentence() -> None:
    ids = [rule.id for rule in all_rules()]
    assert len(ids) == len(set(ids))


if __name__ == "__main__":
    before, after = PAGE.read_text().split(BEGIN)[0], PAGE.read_text().split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")
