"""The safety report as PDF and as CSV, for the person who is responsible for a site. This package calls it "the report".

This package only prints the data that it is given. The PDF library fpdf2 is large, so only the first PDF loads it.
"""

from datetime import UTC, tzinfo

from domogate.reports.spreadsheets import print_order_list, print_tables
from domogate.services.safety import SafetyReport

__all__ = ["print_order_list", "print_pdf", "print_tables"]


def print_pdf(report: SafetyReport, *, made_by: str, zone: tzinfo = UTC, responsible: str = "") -> bytes:
    """Return the report as PDF.

    The same arguments always give the same bytes, if the same fonts are installed. This takes long, so call this function
    on a thread.
    """
    from domogate.reports.pdf import print_report

    return print_report(report, made_by=made_by, zone=zone, responsible=responsible)
