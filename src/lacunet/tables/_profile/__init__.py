"""What is missing in a table, and what that has to do with what."""
