"""The data of the papers as their publishers hand them out: read, split and priced, never downloaded."""

from prunemodels.published_data.cifar10 import load_cifar10
from prunemodels.published_data.hepmass import load_hepmass
from prunemodels.published_data.published import Part, PublishedData
from prunemodels.published_data.scene15 import load_scene15
from prunemodels.published_data.yahoo import load_yahoo

__all__ = ["Part", "PublishedData", "load_cifar10", "load_hepmass", "load_scene15", "load_yahoo"]
