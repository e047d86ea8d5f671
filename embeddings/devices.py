"""Where a model runs: `auto` takes a GPU that helps and falls back to the CPU, `cpu` asks for none, `gpu` insists."""

from pathlib import Path
from typing import Any, Literal

import structlog

from core.errors import EmbeddingFailed

Device = Literal["auto", "cpu", "gpu"]
DEVICES: tuple[Device, ...] = ("auto", "cpu", "gpu")

CPU = "CPUExecutionProvider"
# Exact arithmetic where a provider would rather be fast: a vector should not depend on the machine it was made on.
GPU_PROVIDERS: dict[str, dict[str, str]] = {
    "CUDAExecutionProvider": {"use_tf32": "0"},
    "ROCMExecutionProvider": {},
    "MIGraphXExecutionProvider": {},
    "DmlExecutionProvider": {},
    "CoreMLExecutionProvider": {},
}
ONLY_WHEN_ASKED = {"CoreMLExecutionProvider"}
"""It computes in half precision: not what `auto` should decide for anybody."""
DYNAMIC_INT8 = b"DynamicQuantizeLinear"
"""GPUs have no kernel for it, so such a model would travel to and fro at every layer, and be slower than without."""

log = structlog.get_logger("toolscript.embeddings")


def onnx_session(model: Path, options: Any, device: str) -> Any:
    """An inference session on the device that was asked for."""
    import onnxruntime

    offered = [name for name in GPU_PROVIDERS if name in onnxruntime.get_available_providers()]
    problem = "" if offered else "this onnxruntime has no GPU provider (onnxruntime-gpu has)"
    if device == "auto" and not problem:
        offered = [name for name in offered if name not in ONLY_WHEN_ASKED]
        if DYNAMIC_INT8 in model.read_bytes():
            offered, problem = [], "an int8 model is faster on the CPU"
    if device != "cpu" and offered:
        session, problem = _on_gpu(onnxruntime, model, options, offered[0])
        if session is not None:
            log.debug("embeddings.device", gpu=True, provider=offered[0])
            return session
    if device == "gpu":
        raise _no_gpu(problem)
    log.debug("embeddings.device", gpu=False, reason=problem if device == "auto" else "cpu was asked for")
    return onnxruntime.InferenceSession(str(model), options, providers=[CPU])


def _on_gpu(onnxruntime: Any, model: Path, options: Any, provider: str) -> tuple[Any, str]:
    try:
        chosen = [(provider, GPU_PROVIDERS[provider]), CPU]
        session = onnxruntime.InferenceSession(str(model), options, providers=chosen)
    except Exception as exc:  # drivers fail in every way there is, and the runtime has no error of its own for it
        return None, f"{provider} failed: {str(exc).splitlines()[0][:200]}"
    # Without its libraries a provider is dropped without an error.
    if session.get_providers()[0] != provider:
        return None, f"{provider} could not be started (are its libraries and a GPU there?)"
    return session, ""


def torch_device(device: str) -> str:
    """The name of the device for torch."""
    import torch

    found = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else ""
    if device == "gpu" and not found:
        raise _no_gpu("torch finds none")
    chosen = found if device != "cpu" and found else "cpu"
    log.debug("embeddings.device", gpu=chosen != "cpu", provider=chosen)
    return chosen


class NoGpu(EmbeddingFailed):
    """A GPU was insisted on: nothing should go on without it, and nothing will change by itself."""

    retryable = False


def _no_gpu(problem: str) -> NoGpu:
    return NoGpu(f"The device is gpu, and there is no GPU to use: {problem}. Use auto or cpu instead.")
