"""Traces and workloads, looked into and converted."""
