"""What pruning did to a forest, as one HTML page that needs nothing else: `report_page` and `write_report`."""

from prunemodels.report_page.page import report_page, write_report

__all__ = ["report_page", "write_report"]
