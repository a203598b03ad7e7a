"""The versions of the packages that a model or a comparison was made with."""

import platform
from collections.abc import Iterable
from importlib import metadata

_OURS = ("lacunet", "torch", "numpy", "scikit-learn")


def find_versions(others: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Python, of what lacunet stands on and of other packages.

    Packages without installed metadata, such as a bare checkout, are left out.
    """
    versions = {}
    for package in (*_OURS, *others):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {**versions, "python": platform.python_version()}
