"""Finds the language model that a name stands for. Each is loaded on first use and kept for the process.

openai:MODEL or MODEL    any OpenAI-compatible endpoint
"""

import threading
from importlib import import_module

from llm.types import ChatModel, ChatOptions

CHAT_MODELS = {"openai": "llm.openai_chat:from_model"}
DEFAULT = "openai"

_loaded: dict[tuple[str, ChatOptions], ChatModel] = {}
_lock = threading.Lock()


def load(spec: str, options: ChatOptions) -> ChatModel:
    key = (spec, options)
    with _lock:
        if key not in _loaded:
            _loaded[key] = _build(spec, options)
        return _loaded[key]


def _build(spec: str, options: ChatOptions) -> ChatModel:
    """Names of models may hold a colon of their own (`qwen3:8b`): only a known scheme is one."""
    scheme, _, rest = spec.partition(":")
    if scheme not in CHAT_MODELS or not rest:
        scheme, rest = DEFAULT, spec
    module, _, factory = CHAT_MODELS[scheme].partition(":")
    model: ChatModel = getattr(import_module(module), factory)(rest, options)
    return model
