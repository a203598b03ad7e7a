"""Speed and memory of the core, measured against references in the same run."""
