"""The tables, figures and claims of the paper, made again with lacunet."""
