"""A real OpenAI-compatible embeddings endpoint on loopback, which can also misbehave."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIM = 64


def vector_of(text: str) -> list[float]:
    """Words hashed into a vector: the same words give near vectors, which is all that the tests need."""
    total = np.full(DIM, 0.01)
    for word in re.findall(r"\w+", text.lower()):
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        total += np.random.default_rng(seed).normal(size=DIM)
    return [float(x) for x in total]


class Handler(BaseHTTPRequestHandler):
    server: "EmbeddingServer"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        getattr(self, f"mode_{self.server.mode}")(request)

    def mode_ok(self, request: dict[str, Any]) -> None:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        rows = [{"object": "embedding", "index": i, "embedding": vector_of(t)} for i, t in enumerate(texts)]
        self._send(200, {"object": "list", "data": rows[::-1], "model": request["model"], "usage": {}})

    def mode_fail(self, request: dict[str, Any]) -> None:
        self._send(500, {"error": {"message": "out of order"}})

    def mode_garbage(self, request: dict[str, Any]) -> None:
        self._send(200, {"data": [{"nothing": "useful"}]})

    def mode_short(self, request: dict[str, Any]) -> None:
        self._send(200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]})

    def mode_zero(self, request: dict[str, Any]) -> None:
        self._send(200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.0] * DIM}]})

    def mode_hang(self, request: dict[str, Any]) -> None:
        self.server.released.wait(30)

    def mode_drip(self, request: dict[str, Any]) -> None:
        """A byte now and then: no socket time-out ever strikes."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        for _ in range(300):
            if self.server.released.wait(0.1):
                return
            self.wfile.write(b" ")
            self.wfile.flush()

    def mode_slow(self, request: dict[str, Any]) -> None:
        time.sleep(0.3)
        self.mode_ok(request)

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


class EmbeddingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.mode = "ok"
        self.requests: list[dict[str, Any]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what several tests are about."""


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
