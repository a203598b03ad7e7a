"""Gone since 0.2: see the error that its names raise."""

from lacunet import _MOVED


def __getattr__(name: str) -> object:
    """Raise an error that names the new place."""
    if name.startswith("__"):
        raise AttributeError(name)
    msg = f"lacunet.results.{name} is gone: {_MOVED['results']}"
    raise ImportError(msg)
