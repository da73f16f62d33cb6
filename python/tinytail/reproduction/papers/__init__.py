"""One folder for each paper; its name is in no other place."""
