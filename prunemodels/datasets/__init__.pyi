"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from prunemodels.datasets.heart import fetch_heart as fetch_heart
