"""The native module with types: what it has, how it is asked, and what it answers."""
