"""Speed and memory of the core, and the estimators beside others, in the same run."""
