"""Encoding and decoding of frames. No data stops the reader."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.drivers.openwebnet.frames import (
    ACK,
    BUSY,
    NACK,
    Challenge,
    DimensionReading,
    DimensionRequest,
    DimensionWriting,
    Frame,
    FrameReader,
    Normal,
    Proof,
    Signal,
    StatusRequest,
    from_frame,
)
from support.examples import examples

whos = st.integers(0, 99_999)
digits = st.text("0123456789", max_size=8)
wheres = st.sampled_from(["", "0", "11", "0311", "#3", "#0", "#0#12", "11#4#02", "71#0", "100"])
params = st.lists(digits, max_size=3).map(tuple)
values = st.lists(digits, min_size=1, max_size=5).map(tuple)

frames: st.SearchStrategy[Frame] = st.one_of(
    st.just(ACK),
    st.just(NACK),
    st.just(BUSY),
    st.builds(Signal, st.sampled_from([98, 99]), st.integers(0, 9)),
    st.builds(Challenge, st.text("0123456789", min_size=1, max_size=128)),
    st.builds(Proof, st.text("0123456789", min_size=20, max_size=128), st.text("0123456789", min_size=1, max_size=128)),
    st.builds(Normal, whos, st.integers(0, 999_999), wheres, params),
    st.builds(StatusRequest, whos, wheres),
    st.builds(DimensionRequest, whos, wheres, st.integers(0, 99_999), params=params),
    st.builds(DimensionWriting, whos, wheres, st.integers(0, 99_999), values, params),
    st.builds(DimensionReading, whos, wheres, st.integers(0, 99_999), values, params),
)

# An empty last parameter or value would give a third # at the end: no device writes that.
readable = frames.filter(lambda frame: "##" not in frame.to_frame()[:-2] and not frame.to_frame().endswith("###"))


class TestOneFrame:
    @pytest.mark.parametrize(
        ("written", "frame"),
        [
            ("*#*1##", ACK),
            ("*#*0##", NACK),
            ("*#*6##", BUSY),
            ("*99*1##", Signal(99, 1)),
            ("*98*2##", Signal(98, 2)),
            ("*#603356072##", Challenge("603356072")),
            ("*1*1*11##", Normal(1, 1, "11")),
            ("*2*1*41#4#2##", Normal(2, 1, "41#4#2")),
            ("*2*1000#1*41##", Normal(2, 1000, "41", ("1",))),
            ("*4*110#0225*3##", Normal(4, 110, "3", ("0225",))),
            ("*4*303*#0##", Normal(4, 303, "#0")),
            ("*5*1**##", Normal(5, 1, "*")),
            ("*#1*12##", StatusRequest(1, "12")),
            ("*#4*#0##", StatusRequest(4, "#0")),
            ("*#13**1##", DimensionRequest(13, "", 1)),
            ("*#18*51*52#26#11##", DimensionRequest(18, "51", 52, params=("26", "11"))),
            ("*#13**#0*21*10*00*01##", DimensionWriting(13, "", 0, ("21", "10", "00", "01"))),
            ("*#18*71#0*#1200#1*65##", DimensionWriting(18, "71#0", 1200, ("65",), ("1",))),
            ("*#4*1*0*0215*3##", DimensionReading(4, "1", 0, ("0215", "3"))),
            ("*#18*51*511#11#15*25*1200##", DimensionReading(18, "51", 511, ("25", "1200"), ("11", "15"))),
        ],
    )
    def test_is_read_and_written_as_the_protocol_has_it(self, written: str, frame: Frame) -> None:
        assert from_frame(written) == frame
        assert frame.to_frame() == written

    @pytest.mark.parametrize(("digit", "frame"), [("2", NACK), ("3", NACK), ("4", BUSY), ("5", BUSY)])
    def test_a_gateway_may_give_the_reason_of_a_nack(self, digit: str, frame: Frame) -> None:
        assert from_frame(f"*#*{digit}##") == frame

    @pytest.mark.parametrize(
        "written", ["", "##", "*##", "*1##", "**##", "*1*1*11", "1*1*11##", "*#4*1*#14##", "*a*1*11##", "*١*1*11##"]
    )
    def test_what_is_none_is_none(self, written: str) -> None:
        assert from_frame(written) is None

    @given(readable)
    def test_what_is_written_is_read_again(self, frame: Frame) -> None:
        assert from_frame(frame.to_frame()) == frame

    @given(st.text())
    def test_no_text_is_too_strange(self, text: str) -> None:
        frame = from_frame(text)
        assert frame is None or from_frame(frame.to_frame()) == frame


class TestFrameReader:
    @given(st.lists(readable, max_size=5), st.integers(1, 40))
    @settings(max_examples=examples(50))
    def test_it_does_not_matter_how_the_stream_is_cut(self, sent: list[Frame], size: int) -> None:
        stream = "".join(frame.to_frame() for frame in sent).encode()
        reader = FrameReader()
        pieces = (stream[at : at + size] for at in range(0, len(stream), size))
        assert [frame for piece in pieces for frame in reader.feed(piece)] == sent
        assert reader.unreadable == 0

    @given(st.lists(st.binary(max_size=200), max_size=10), readable)
    def test_whatever_came_before_the_next_whole_frame_is_read(self, garbage: list[bytes], frame: Frame) -> None:
        reader = FrameReader()
        for piece in garbage:
            list(reader.feed(piece))
        list(reader.feed(b"x##"))
        assert list(reader.feed(frame.to_frame().encode())) == [frame]

    @pytest.mark.parametrize("beginning", ["*1*1*", "*#1*", "*#1*1*1", "*#1*1*1#2", "*1*1#2", "*#1"])
    def test_a_long_frame_that_ends_wrongly_is_passed_over_at_once(self, beginning: str) -> None:
        reader = FrameReader()
        for tag in ("1", "#1", "1#", "*1"):
            assert list(reader.feed(f"{beginning}{tag * 500}x##".encode())) == []

    def test_what_cannot_be_read_is_counted(self) -> None:
        reader = FrameReader()
        assert list(reader.feed(b"*1*1*11##nonsense##\xff\xfe##*1*0*11##")) == [Normal(1, 1, "11"), Normal(1, 0, "11")]
        assert reader.unreadable == 2

    def test_a_frame_without_end_does_not_grow(self) -> None:
        reader = FrameReader()
        for _ in range(100):
            assert list(reader.feed(b"*" * 1000)) == []
        assert reader.unreadable > 10
        list(reader.feed(b"##"))
        assert list(reader.feed(b"\r\n*1*1*11##\r\n*1*0*11##")) == [Normal(1, 1, "11"), Normal(1, 0, "11")]
