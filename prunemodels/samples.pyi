"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.models.forests.error_samples import Blend as Blend, Given as Given, InBag as InBag, OutOfBag as OutOfBag
