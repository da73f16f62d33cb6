"""Runs a sweep on a Slurm cluster: a job is a worker, and this script, on a login node, the rest.

Run: pip install dask-jobqueue; python slurm.py SWEEP.toml
"""

from __future__ import annotations

import subprocess
import sys

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

# What one job asks for. A worker runs as many points at once as it has cores and memory for.
cluster = SLURMCluster(cores=8, processes=1, memory="32GiB", walltime="04:00:00", queue="compute")
cluster.scale(jobs=10)
with Client(cluster) as client:
    client.wait_for_workers(1)
    command = ["tinytail", "sweep", sys.argv[1], "--cluster", cluster.scheduler_address]
    sys.exit(subprocess.run(command).returncode)
