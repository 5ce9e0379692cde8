"""Layout of a report on A4: margins, headings, tables with a repeated header, page numbers."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import wrap

import msgspec
from fpdf import FPDF
from fpdf.enums import TableBordersLayout, XPos, YPos
from fpdf.fonts import FontFace

from domogate.reports.fonts import HELVETICA, Typeface

Colour = tuple[int, int, int]

PAPER: Colour = (255, 255, 255)
INK: Colour = (33, 37, 41)
FAINT: Colour = (108, 117, 125)
LINE: Colour = (206, 212, 218)
BAND: Colour = (233, 237, 242)
BRAND: Colour = (22, 78, 99)
ALARM: Colour = (176, 42, 55)
CALM: Colour = (25, 110, 68)

MARGIN, WIDTH = 15.0, 180.0
_BODY, _SMALL = 8.0, 7.0
_LINE = 3.7
# A row must fit on a page. A longer text is continued in more rows.
_LINES_IN_A_ROW, _LETTERS_IN_A_LINE = 40, 60


class Column(msgspec.Struct, frozen=True):
    """A column: its title and its relative width."""

    title: str
    width: float
    align: str = "LEFT"


class Cell(msgspec.Struct, frozen=True):
    """A cell with its style. A band is a coloured row that separates the rows below it from the rows above it."""

    text: str
    alarm: bool = False
    bold: bool = False
    band: bool = False
    span: int = 1


class ReportDocument(FPDF):
    """A document of A4 pages in portrait. Characters that the font cannot print are replaced first (`fonts.py`)."""

    def __init__(self, typeface: Typeface, *, title: str, footer: str, made_at: float, made_by: str, warning: str = "") -> None:
        """`warning` is printed at the top of every page."""
        super().__init__(orientation="portrait", unit="mm", format="A4")
        self._typeface = typeface
        self._warning = typeface.clean(warning)
        self._footer = typeface.clean(footer)
        self._face = HELVETICA
        if typeface.regular is not None and typeface.bold is not None:
            self._face = "report"
            self.add_font(self._face, "", typeface.regular)
            self.add_font(self._face, "B", typeface.bold)
        self.set_margins(MARGIN, MARGIN, MARGIN)
        self.c_margin = 0  # align text with tables and lines
        self.set_auto_page_break(True, margin=20)
        self.set_title(title)
        self.set_producer(made_by)
        self.set_creator(made_by)
        self.set_lang("en")
        # The time of the report, not the time of printing: the same report gives the same bytes.
        self.set_creation_date(datetime.fromtimestamp(made_at, UTC))
        self.add_page()

    # fpdf2 calls this method.

    def header(self) -> None:
        if self._warning:
            self.set_y(5)
            self._ink(ALARM, _BODY, bold=True)
            self.cell(WIDTH, 4, self._warning, align="C")
            self.set_y(MARGIN)

    def footer(self) -> None:
        self.set_y(-14)
        self._ink(FAINT, _SMALL)
        self.set_draw_color(*LINE)
        self.line(MARGIN, self.get_y(), MARGIN + WIDTH, self.get_y())
        self.set_y(-12)
        self.cell(WIDTH - 30, 4, self._footer, new_x=XPos.RIGHT, new_y=YPos.TOP)
        self.cell(30, 4, f"{self.page_no()} / {{nb}}", align="R")

    # content

    def title_block(self, name: str, subtitle: str) -> None:
        self.set_fill_color(*BRAND)
        self.rect(0, 0, self.w, 3, style="F")
        self.set_y(MARGIN + 2)
        self._ink(FAINT, 10)
        self._lines(subtitle, 5)
        self._ink(BRAND, 20, bold=True)
        self._lines(name, 9)
        self.ln(2)

    def heading(self, text: str) -> None:
        # A heading at the end of a page moves to the next page.
        if self.will_page_break(28):
            self.add_page()
        self.ln(5)
        self._ink(BRAND, 12, bold=True)
        self._lines(text, 6)
        self.ln(1)

    def paragraph(self, text: str, *, small: bool = False) -> None:
        self._ink(FAINT if small else INK, _BODY)
        self._lines(text, 4)
        self.ln(1.5)

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        for noun, text in facts:
            self._ink(FAINT, 9)
            self.cell(45, 5, self._typeface.clean(noun), new_x=XPos.RIGHT, new_y=YPos.TOP)
            self._ink(INK, 9)
            self._lines(text, 5, width=WIDTH - 45)
        self.ln(3)

    def banner(self, sentences: Sequence[str], colour: Colour) -> None:
        self.set_draw_color(*colour)
        self._ink(colour, 10, bold=True)
        top = self.get_y()
        self.set_left_margin(MARGIN + 4)
        self.set_xy(MARGIN + 4, top + 1)
        for sentence in sentences:
            self._lines(sentence, 5, width=WIDTH - 4)
        self.set_left_margin(MARGIN)
        self.set_line_width(1.2)
        self.line(MARGIN + 0.6, top, MARGIN + 0.6, self.get_y() + 1)
        self.set_line_width(0.2)
        self.ln(2)

    def signature(self, name: str) -> None:
        """Print the lines for a signature, with the name of the person if it is known."""
        for noun, text in (("Name", name), ("Function", ""), ("Place and date", ""), ("Signature", "")):
            if self.will_page_break(12):
                self.add_page()
            self._ink(FAINT, 9)
            self.cell(45, 10, noun, align="L", new_x=XPos.RIGHT, new_y=YPos.TOP)
            self._ink(INK, 9)
            self.cell(100, 10, self._typeface.clean(text), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            self.set_draw_color(*FAINT)
            self.line(MARGIN + 45, self.get_y() - 2.5, MARGIN + 145, self.get_y() - 2.5)

    def grid(self, columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]]) -> None:
        """Print a table. Its header is repeated on every page."""
        self._ink(INK, _BODY)
        self.set_draw_color(*LINE)
        heading = FontFace(emphasis="BOLD", color=PAPER, fill_color=BRAND)
        with self.table(
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            col_widths=[column.width for column in columns],
            headings_style=heading,
            line_height=_LINE,
            padding=(0.9, 1.2, 0.9, 1.2),
            text_align=[column.align for column in columns],
            v_align="TOP",
            width=WIDTH,
        ) as printed:
            header = printed.row()
            for column in columns:
                header.cell(self._typeface.clean(column.title))
            for cells in rows:
                for part in _split_row([one if isinstance(one, Cell) else Cell(one) for one in cells]):
                    row = printed.row()
                    for cell in part:
                        row.cell(self._typeface.clean(cell.text), colspan=cell.span, style=_style(cell))
        self.ln(2)

    def _ink(self, colour: Colour, size: float, *, bold: bool = False) -> None:
        self.set_text_color(*colour)
        self.set_font(self._face, "B" if bold else "", size)

    def _lines(self, text: str, height: float, *, width: float = WIDTH) -> None:
        self.multi_cell(width, height, self._typeface.clean(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _style(cell: Cell) -> FontFace:
    return FontFace(
        emphasis="BOLD" if cell.bold else None, color=ALARM if cell.alarm else INK, fill_color=BAND if cell.band else PAPER
    )


def _split_row(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Split a row into one or more rows that each fit on a page."""
    pieces = [_split_text(cell.text) for cell in cells]
    for number in range(max(map(len, pieces))):
        yield [
            msgspec.structs.replace(cell, text=piece[number] if number < len(piece) else "")
            for cell, piece in zip(cells, pieces, strict=True)
        ]


def _split_text(text: str) -> list[str]:
    if len(text) < _LETTERS_IN_A_LINE and text.count("\n") < _LINES_IN_A_ROW:
        return [text]
    lines = [piece for line in text.split("\n") for piece in wrap(line, _LETTERS_IN_A_LINE * _LINES_IN_A_ROW // 2) or [""]]
    pieces: list[str] = []
    held: list[str] = []
    weight = 0
    for line in lines:
        cost = 1 + len(line) // (_LETTERS_IN_A_LINE // 2)
        if held and weight + cost > _LINES_IN_A_ROW:
            pieces.append("\n".join(held))
            held, weight = [], 0
        held.append(line)
        weight += cost
    return [*pieces, "\n".join(held)]
