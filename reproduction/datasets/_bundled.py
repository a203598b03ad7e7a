"""Data sets that come with scikit-learn and need no files."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

from reproduction.datasets._record import DataSet

_UCI = "CC BY 4.0 by UCI; it comes with scikit-learn"


class _Bundled(NamedTuple):
    load: Callable[[], Any]
    description: str
    source: str
    licence: str


def _unscaled_diabetes() -> Any:
    # scikit-learn's default is scaled with all rows, test rows among them.
    return datasets.load_diabetes(scaled=False)


BUNDLED = {
    "digits": _Bundled(
        datasets.load_digits,
        "Handwritten digits as images of 8 x 8 grey values, 0 to 16.",
        "scikit-learn; UCI, optical recognition of handwritten digits, test part",
        _UCI,
    ),
    "breast_cancer_wdbc": _Bundled(
        datasets.load_breast_cancer,
        "Is a breast tumour benign (1) or malignant (0), by thirty measures of the "
        "nuclei of its cells? Not the patients of breast_cancer and winconsin.",
        "scikit-learn; UCI, breast cancer Wisconsin (diagnostic)",
        _UCI,
    ),
    "wine": _Bundled(
        datasets.load_wine,
        "Which of three cultivars was a wine made of, by chemical analysis? Sorted by "
        "class.",
        "scikit-learn; UCI, wine",
        _UCI,
    ),
    "iris": _Bundled(
        datasets.load_iris,
        "Sepals and petals of three species of iris. Sorted by class. The values are "
        "those of Fisher's paper; UCI's copy has two errors.",
        "scikit-learn; R. A. Fisher, 1936; UCI, iris",
        _UCI,
    ),
    "diabetes_regression": _Bundled(
        _unscaled_diabetes,
        "How far has diabetes progressed after a year? Ten measures of 442 patients in "
        "their own units, not scaled as scikit-learn does by default. Not the patients "
        "of diabetes and pima.",
        "scikit-learn; Efron, Hastie, Johnstone and Tibshirani, 2004",
        "unknown for the data; it comes with scikit-learn",
    ),
}


def load_bundled(name: str) -> DataSet:
    """Return a data set that comes with scikit-learn.

    Parameters
    ----------
    name : str
        A key of ``BUNDLED``.

    Returns
    -------
    DataSet
    """
    load, description, source, licence = BUNDLED[name]
    found = load()
    classes = found.get("target_names", ())
    return DataSet(
        name=name,
        X=found.data.astype(np.float64),
        y=found.target.astype(np.int64 if len(classes) else np.float64),
        feature_names=tuple(map(str, found.feature_names)),
        target_names=tuple(map(str, classes)),
        description=description,
        source=source,
        licence=licence,
    )
