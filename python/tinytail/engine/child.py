"""A process that runs designs with policies from files; `processes.py` of the parent starts it.

Policies may end this process, or never answer. Both processes send each other JSON by sockets.
"""

from __future__ import annotations

import json
import os
import threading
from multiprocessing.connection import Connection
from typing import Any

from tinytail import _native

REPORT_SECONDS = 0.1

Message = dict[str, Any]


def main(descriptor: int) -> None:
    """Answers calls until the other process has ended, or has closed its socket."""
    child = _Child(Connection(descriptor))
    try:
        child.listen()
    except (EOFError, OSError):
        pass
    finally:
        # A policy may be running, and nothing can stop it.
        os._exit(0)


class _Child:
    """Listens in the main thread, and does what is called for in another one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._control: _native.Control | None = None
        self._serving: _native.Serving | None = None
        self._questions = 0

    def listen(self) -> None:
        while True:
            if not self._connection.poll(None if self._control is None else REPORT_SECONDS):
                self._report()
                continue
            message: Message = json.loads(self._connection.recv_bytes())
            if "call" not in message:
                if self._control is not None:
                    self._control.cancel()
                continue
            for name, text in message["texts"].items():
                _native.set_text(name, text)
            self._control = control = _native.Control()
            threading.Thread(target=self._answer, args=(message, control), daemon=True).start()

    def _report(self) -> None:
        control, serving = self._control, self._serving
        if control is None:
            return
        questions, before = _native.policy_questions(), self._questions
        self._questions = questions
        # An odd number counts a question that has no answer yet.
        report: Message = {"asks": questions != before or questions % 2 == 1}
        report["progress"] = [control.phase(), control.done(), control.total()]
        if serving is not None:
            report["look"] = serving.look()
        self._send(report)

    def _answer(self, message: Message, control: _native.Control) -> None:
        try:
            reply = self._called(message, control)
        # A panic of the native module is not an Exception.
        except BaseException as error:  # noqa: BLE001
            reply = {"error": type(error).__name__, "message": str(error)}
        # Before the reply: the other process may call again at once.
        self._control = self._serving = None
        try:
            self._send(reply)
        except OSError:
            os._exit(0)

    def _called(self, message: Message, control: _native.Control) -> Message:
        document = message["document"]
        match message["call"]:
            case "run":
                cache = message["cache"]
                shared = _native.Shared(
                    [document], None if cache is None else tuple(cache), holds_last=False
                )
                result = _native.run(document, control, shared)
                return {
                    "result": result,
                    "notes": shared.take_notes(),
                    "used": shared.take_used(),
                }
            case "image_create":
                return {"result": _native.image_create(document, control)}
            case "power_cut":
                return {"result": _native.power_cut(document, control)}
            case "serve":
                self._serving = _native.Serving(control)
                return {"result": self._serving.serve(document)}
            case other:
                raise ValueError(f"there is no call {other}")

    def _send(self, message: Message) -> None:
        with self._sending:
            self._connection.send_bytes(json.dumps(message).encode())
