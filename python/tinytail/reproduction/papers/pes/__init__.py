"""The rows of Practical Erase Suspension, and what measures them."""
