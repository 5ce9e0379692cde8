"""Reports on paper: what the person responsible for emergency lighting files, as PDF and as CSV.

A printer: it is given everything it prints and asks nobody. fpdf2 is large and is loaded with the first PDF only.
"""

from datetime import UTC, tzinfo

from domogate.reports.spreadsheets import print_order_list, print_tables
from domogate.services.safety import SafetyReport

__all__ = ["print_order_list", "print_pdf", "print_tables"]


def print_pdf(report: SafetyReport, *, made_by: str, zone: tzinfo = UTC, responsible: str = "") -> bytes:
    """The report as PDF: the same bytes for the same report. It computes for a while: call it on a thread."""
    from domogate.reports.pdf import print_report

    return print_report(report, made_by=made_by, zone=zone, responsible=responsible)
