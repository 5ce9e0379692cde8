from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.ids import DASHED_UUID, HEX32, Id


class TestOneIdentityTwoSpellings:
    @given(st.uuids())
    def test_each_spelling_reads_what_it_prints(self, identity: UUID) -> None:
        for spelling in (DASHED_UUID, HEX32):
            assert spelling.parse_id(spelling.print_id(Id(str(identity)))) == str(identity)

    @given(st.uuids())
    def test_upper_case_is_the_same_identity(self, identity: UUID) -> None:
        assert DASHED_UUID.parse_id(str(identity).upper()) == str(identity)
        assert HEX32.parse_id(identity.hex.upper()) == str(identity)

    @given(st.uuids())
    def test_neither_reads_the_others_spelling(self, identity: UUID) -> None:
        assert DASHED_UUID.parse_id(identity.hex) is None
        assert HEX32.parse_id(str(identity)) is None

    @given(st.uuids(), st.sampled_from(["{%s}", "urn:uuid:%s", " %s", "%s ", "%s\n", "%s\0"]))
    def test_nothing_around_it_is_accepted(self, identity: UUID, frame: str) -> None:
        assert DASHED_UUID.parse_id(frame % identity) is None
        assert HEX32.parse_id(frame % identity.hex) is None

    @given(st.text())
    def test_no_text_makes_it_raise(self, text: str) -> None:
        for spelling in (DASHED_UUID, HEX32):
            parsed = spelling.parse_id(text)
            assert parsed is None or spelling.print_id(parsed) == text.lower()

    def test_digits_of_other_scripts_are_no_digits(self) -> None:
        assert HEX32.parse_id("٠" * 32) is None
        assert DASHED_UUID.parse_id("٠" * 8 + "-1111-1111-1111-111111111111") is None
