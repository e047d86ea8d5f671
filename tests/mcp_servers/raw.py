"""A stdio server made of nothing but JSON lines, so that it can do everything a server should not.

Run with the path of a JSON file, which is read again for every request:
    tools, prompts, resources, resourceTemplates   the lists, published as they stand there, valid or not
    page_size        items on a page
    announce         say so when the file changes
    on               {method: behaviour}, behaviour one of
                     hang, crash, error, garbage, ignore, unknown, endless
    leak             a variable whose value is put into stderr, errors, descriptions and instructions
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

DEFINITION = Path(sys.argv[1])
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
lock = threading.Lock()


def definition() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DEFINITION.read_text())
    return loaded


def send(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def leaked(current: dict[str, Any]) -> str:
    return os.environ.get(current.get("leak", ""), "")


def capabilities(current: dict[str, Any]) -> dict[str, Any]:
    changes = {"listChanged": True} if current.get("announce") else {}
    found: dict[str, Any] = {"tools": changes}
    found |= {"prompts": changes} if "prompts" in current else {}
    found |= {"resources": changes} if "resources" in current else {}
    return found


def page(current: dict[str, Any], key: str, cursor: str | None) -> dict[str, Any]:
    items = current.get(key, [])
    size = current.get("page_size") or len(items) or 1
    start = int(cursor or 0)
    more = {"nextCursor": str(start + size)} if start + size < len(items) else {}
    if secret := leaked(current):
        items = [{**item, "description": f"connected with {secret}"} for item in items]
    return {key: items[start : start + size], **more}


def misbehave(behaviour: str, request: dict[str, Any], current: dict[str, Any]) -> bool:
    """Whether that was all."""
    if behaviour == "hang":
        time.sleep(600)
    if behaviour == "crash":
        print(f"out of memory {leaked(current)}", file=sys.stderr, flush=True)
        os._exit(3)
    if behaviour == "garbage":
        sys.stdout.write(f"Listening on port 3000 {leaked(current)}\n{{not json\n[]\n\n")
        sys.stdout.flush()
        return False
    if behaviour == "unknown":
        send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
    if behaviour == "error":
        send({"id": request["id"], "error": {"code": -32000, "message": f"no access {leaked(current)}"}})
    if behaviour == "endless":
        send({"id": request["id"], "result": {LISTS[request["method"]]: [], "nextCursor": "again"}})
    return True


def answer(request: dict[str, Any]) -> None:
    current, method = definition(), request.get("method", "")
    if "id" not in request:
        return
    behaviour = current.get("on", {}).get(method, "unknown" if method == "server/discover" else "")
    if behaviour and misbehave(behaviour, request, current):
        return
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities(current),
            "serverInfo": {"name": "raw", "version": "1", "title": current.get("title", "Raw server")},
            "instructions": f"Use it well. {leaked(current)}".strip(),
        }
    elif method in LISTS:
        result = page(current, LISTS[method], (request.get("params") or {}).get("cursor"))
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": json.dumps(request["params"].get("arguments"))}]}
    else:
        send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        return
    send({"id": request["id"], "result": result})


def watch() -> None:
    seen = DEFINITION.read_text()
    while True:
        time.sleep(0.02)
        text = DEFINITION.read_text()
        if text and text != seen:
            seen = text
            send({"method": "notifications/tools/list_changed"})


if __name__ == "__main__":
    if leaked(definition()):
        print(f"starting with {leaked(definition())}", file=sys.stderr, flush=True)
    if definition().get("announce"):
        threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        answer(json.loads(line))
