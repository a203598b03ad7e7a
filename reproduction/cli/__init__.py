"""The command ``python -m reproduction``."""
