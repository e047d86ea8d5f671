"""A real OpenAI-compatible chat endpoint on loopback, which can also misbehave."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any]


def filed(*skills: tuple[str, float], suggestion: Reply | None = None) -> Reply:
    """An answer as the classifier's schema wants it."""
    rows = [{"skill_id": s, "confidence": c, "reasoning": f"It is about {s}."} for s, c in skills]
    return {"assignments": rows, "suggestion": suggestion}


class Handler(BaseHTTPRequestHandler):
    server: "ChatServer"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(request)
            modes = self.server.modes
            mode = modes.pop(0) if len(modes) > 1 else modes[0]
        getattr(self, f"mode_{mode}")(request)

    def mode_ok(self, request: Reply) -> None:
        self.say(json.dumps(self.server.answer(request["messages"][1]["content"])))

    def mode_broken(self, request: Reply) -> None:
        self.say('{"assignments": [{"skill_id": "wea')

    def mode_wrong_shape(self, request: Reply) -> None:
        self.say('{"assignments": "weather", "suggestion": null}')

    def mode_empty(self, request: Reply) -> None:
        self.send(200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []})

    def mode_refusal(self, request: Reply) -> None:
        self.say(None, refusal="I cannot help with that.")

    def mode_busy(self, request: Reply) -> None:
        self.send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})

    def mode_full(self, request: Reply) -> None:
        self.send(429, {"error": {"message": "quota"}}, {"Retry-After": "3600"})

    def mode_fail(self, request: Reply) -> None:
        self.send(500, {"error": {"message": "secret detail of the service"}})

    def mode_denied(self, request: Reply) -> None:
        self.send(401, {"error": {"message": "bad key"}})

    def mode_hang(self, request: Reply) -> None:
        self.server.released.wait(30)

    def say(self, content: str | None, refusal: str | None = None) -> None:
        message = {"role": "assistant", "content": content, "refusal": refusal}
        self.send(
            200,
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "tiny",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            },
        )

    def send(self, status: int, body: Reply, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


class ChatServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.modes = ["ok"]
        """One a request; the last one stays."""
        self.answer: Callable[[str], Reply] = lambda prompt: filed(("weather", 0.9))
        self.requests: list[Reply] = []
        self.lock = threading.Lock()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what some tests are about."""


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
