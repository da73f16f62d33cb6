"""Results of several threads at once."""

from __future__ import annotations

import subprocess
import sys

from fake_native import __file__ as fake_native

# The first results that a process reads, all at one moment.
SCRIPT = f"""
import sys, threading
sys.path.insert(0, {fake_native.rpartition("/")[0]!r})
from fake_native import result
from tinytail.comparison.result import DesignResult
import msgspec
sys.setswitchinterval(1e-6)
together, found = threading.Barrier(8), []

def read():
    together.wait()
    found.append(DesignResult.from_dict(result("base")))

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(len(found) != 8 or any(each != found[0] for each in found))
"""


def test_first_results_may_be_read_at_once() -> None:
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
