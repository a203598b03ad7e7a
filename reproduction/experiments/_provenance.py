"""What a result was made by: versions of packages, and the commit."""

import functools
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

PACKAGES = ("lacunet", "numpy", "scikit-learn", "scipy", "torch")
# The packages that hold the library of a method.
LIBRARIES = {
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "catboost": ("catboost",),
}


def find_versions(method: str) -> Mapping[str, str]:
    """Return the versions of what a cell is computed with.

    Parameters
    ----------
    method : str

    Returns
    -------
    mapping of str to str
        Packages that are not installed are left out.

    Examples
    --------
    >>> from reproduction.experiments._provenance import find_versions
    >>> sorted(find_versions("mean"))
    ['lacunet', 'numpy', 'python', 'scikit-learn', 'scipy', 'torch']
    """
    versions = {"python": platform.python_version()}
    for package in (*PACKAGES, *LIBRARIES.get(method, ())):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


@functools.cache
def find_commit() -> str | None:
    """Return the commit of the code that runs, with a mark if it was changed since.

    Returns
    -------
    str or None
        None for an installed package, or without git.
    """
    if _ask_git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None  # a file of no repository, or of one that it merely lies in
    commit = _ask_git("rev-parse", "HEAD")
    changed = _ask_git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{commit}-dirty" if commit and changed else commit


def _ask_git(*arguments: str) -> str | None:
    package = Path(__file__).parent.parent
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=package, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
