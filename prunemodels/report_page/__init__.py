"""What pruning did to a forest, or what a cascade does, as one HTML page that needs nothing else."""

from prunemodels.report_page.page import report_page, write_report

__all__ = ["report_page", "write_report"]
