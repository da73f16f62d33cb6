"""The rows of TTFLASH, and what measures them."""
