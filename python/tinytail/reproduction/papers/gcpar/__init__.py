"""I/O-parallelized GC (HPDC 2018): GC's reads and writes together with the host's."""
