"""What figures mean, with nothing drawn: percentiles, noise, findings, sentences."""
