"""What a terminal shows, whatever it is about: consoles, progress, tables, bars."""
