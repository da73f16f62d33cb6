"""Files as such: text up to a bound, files that are whole or not there, TOML."""
