"""Errors and warnings of lacunet's own."""

__all__ = ["AdaptError", "LacunetError"]


class LacunetError(Exception):
    """Base of the errors that only lacunet raises."""


class AdaptError(LacunetError, ValueError):
    """A model in which the layer that meets the missing values can't be told."""
