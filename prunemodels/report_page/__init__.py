"""A report on a pruned forest or on a cascade, as one self-contained HTML page."""

from prunemodels.report_page.page import report_page, write_report

__all__ = ["report_page", "write_report"]
