"""Runs a sweep on Kubernetes, by the operator of dask-kubernetes, which has to be installed there.

The image needs Python, dask and the same build of tinytail as this machine.

Run: pip install dask-kubernetes; python kubernetes.py SWEEP.toml IMAGE
"""

from __future__ import annotations

import subprocess
import sys

from dask.distributed import Client
from dask_kubernetes.operator import KubeCluster

sweep, image = sys.argv[1:]
limits = {"cpu": "8", "memory": "32Gi"}
cluster = KubeCluster(
    name="tinytail", image=image, n_workers=10, resources={"requests": limits, "limits": limits}
)
with Client(cluster) as client:
    client.wait_for_workers(1)
    command = ["tinytail", "sweep", sweep, "--cluster", cluster.scheduler_address]
    sys.exit(subprocess.run(command).returncode)
