"""What a user names, checked before anything runs: designs, files, pipes."""
