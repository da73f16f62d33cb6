"""Designs on one workload, on drives aged alike: the plan, the run, the result."""
