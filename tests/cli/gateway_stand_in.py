"""An HTTP server that answers whatever a test wants: for what a command does with good and bad gateways."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


class Handler(BaseHTTPRequestHandler):
    server: "StandIn"

    def answer(self) -> None:
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, address.path, dict(parse_qsl(address.query)), body))
        self.server.headers.append(dict(self.headers))
        if self.server.hangs:
            self.server.released.wait(30)
            return
        time.sleep(self.server.thinks)
        status, kind, content = self.server.answers.get(address.path, (404, "text/html", "<h1>Not here</h1>"))
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def log_message(self, *args: Any) -> None:
        pass


class StandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, str, Any]] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.hangs = False
        self.thinks = 0.0
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def finds(self, *hits: tuple[str, float, str, str], degraded: bool = False) -> None:
        """What `GET /search` answers: id, confidence, reason, description."""
        results = [
            {
                "toolId": tool,
                "serverName": tool.partition("__")[0],
                "toolName": tool.partition("__")[2],
                "confidence": confidence,
                "reason": reason,
                "description": description,
            }
            for tool, confidence, reason, description in hits
        ]
        found = {"query": "q", "results": results, "totalResults": len(results), "threshold": 0.35}
        self.answers["/search"] = (200, "application/json", {**found, "degraded": degraded})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was interrupted is what some tests are about."""


@contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
