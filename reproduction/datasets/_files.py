"""The bytes of a file: from a folder of the user's, or downloaded to a cache."""

import hashlib
import os
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from lacunet.exceptions import LacunetError
from reproduction.datasets._registry import DataFile

DATA = "LACUNET_DATA"  # names a folder that has the files; then nothing is downloaded
CACHE = "LACUNET_CACHE"  # names another folder for the downloads than the usual one
RETRIES = 2
CHUNK = 2**16  # bytes


def read_file(file: DataFile) -> bytes:
    """Return the bytes of a file, which are those that the registry knows.

    Parameters
    ----------
    file : DataFile

    Returns
    -------
    bytes
    """
    folder = os.environ.get(DATA)
    if not folder:
        return _download(file).read_bytes()
    content = _read_local(Path(folder).expanduser() / file.path, file)
    _check_hash(content, file)
    return content


def _read_local(path: Path, file: DataFile) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = (
            f"Got {error.strerror!r} for {str(path)!r}, but expected a file there: "
            f"{DATA} names the folder, and then nothing is downloaded. Put the file "
            f"there, its address is {file.url}, or unset {DATA}."
        )
        raise LacunetError(msg) from error


def _check_hash(content: bytes, file: DataFile) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        msg = (
            f"Got {file.path!r} with sha256 {found} in the folder that {DATA} names, "
            f"but expected {file.sha256}. It is damaged, or another version: replace "
            f"it by the file at {file.url}."
        )
        raise LacunetError(msg)


def _download(file: DataFile) -> Path:
    """Return the path of a file in the cache, where it is put if it is not there."""
    pooch = _import_pooch(file)
    cache = pooch.create(
        path=pooch.os_cache("lacunet"),
        env=CACHE,
        base_url="",
        registry={file.path: f"sha256:{file.sha256}"},
        urls={file.path: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        # Checks the hash of what is there and of what comes, and puts whole files in
        # place only.
        return Path(cache.fetch(file.path, downloader=partial(_with_progress, file)))
    except OSError as error:
        msg = (
            f"Got no file from {file.url}, but expected to put it into the cache, "
            f"{str(cache.abspath)!r}. Go online and try again, or get the file in "
            f"another way and name a folder that has it as {file.path!r} in the "
            f"variable {DATA}. The cause: {error}"
        )
        raise LacunetError(msg) from error
    except ValueError as error:
        msg = (
            f"Got other bytes from {file.url} than those of sha256 {file.sha256}. They "
            f"are not used. Try again later, or name a folder that has the file as "
            f"{file.path!r} in the variable {DATA}. The cause: {error}"
        )
        raise LacunetError(msg) from error


def _import_pooch(file: DataFile) -> Any:
    try:
        return import_module("pooch")
    except ImportError as error:
        msg = (
            f"Got no package pooch, but expected it, to download {file.url}. Install "
            f"it with pip install 'lacunet[data]', or name a folder that has the file "
            f"as {file.path!r} in the variable {DATA}."
        )
        raise ImportError(msg) from error


def _with_progress(file: DataFile, url: str, output: Any, cache: Any) -> None:
    """Download a file with a bar, as pooch asks for it."""
    name, size = Path(file.path).name, file.n_bytes
    with tqdm(desc=name, total=size, unit="B", unit_scale=True, leave=False) as bar:
        download = import_module("pooch").HTTPDownloader(bar, chunk_size=CHUNK)
        download(url, output, cache)
