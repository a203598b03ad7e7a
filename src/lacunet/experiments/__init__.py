"""The paper's experiments, and the methods that they compare."""
