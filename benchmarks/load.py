"""An HTTP load generator: keep-alive connections, each sending its next request when it has its answer."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Request = tuple[str, str, bytes | None]
"""method, path, body"""
HEADERS = {"Content-Type": "application/json"}


@dataclass
class Load:
    label: str
    clients: int
    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / self.seconds

    def percentile(self, q: float) -> float:
        return float(np.percentile(self.latencies_ms, q))


def run(label: str, port: int, clients: int, requests: list[Request]) -> Load:
    """All requests are sent once, shared out among the clients."""
    load = Load(label, clients)
    lock = threading.Lock()
    waiting = iter(requests)

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        mine: list[tuple[float, bytes]] = []
        while True:
            with lock:
                request = next(waiting, None)
            if request is None:
                break
            started = time.perf_counter()
            connection.request(request[0], request[1], request[2], HEADERS)
            response = connection.getresponse()
            body = response.read()
            mine.append(((time.perf_counter() - started) * 1000, body))
            if response.status != 200:
                raise RuntimeError(f"{label}: {response.status} {body[:300]!r}")
        connection.close()
        with lock:
            load.latencies_ms += [ms for ms, _ in mine]
            load.answers += [json.loads(body) for _, body in mine]

    threads = [threading.Thread(target=client) for _ in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.seconds = time.perf_counter() - started
    if len(load.latencies_ms) != len(requests):
        raise RuntimeError(f"{label}: {len(requests) - len(load.latencies_ms)} requests got no answer")
    return load
