"""Gone since 0.2: importing it raises an error that names the new place."""

from lacunet import _MOVED

raise ImportError(_MOVED["experiments"])
