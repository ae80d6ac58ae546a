"""The papers' data sets: readers of the publishers' files, which split and price the data. Nothing is downloaded."""

from benchmarks.data.cifar10 import load_cifar10
from benchmarks.data.hepmass import load_hepmass
from benchmarks.data.published import Part, PublishedData
from benchmarks.data.scene15 import load_scene15
from benchmarks.data.yahoo import load_yahoo

__all__ = ["Part", "PublishedData", "load_cifar10", "load_hepmass", "load_scene15", "load_yahoo"]
