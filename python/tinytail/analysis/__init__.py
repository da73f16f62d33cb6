"""What is worked out without a run, and how it is shown."""
