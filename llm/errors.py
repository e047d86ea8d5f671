from core.errors import UpstreamError
from llm.types import Usage


class ModelFailed(UpstreamError):
    """The language model is away, slow, or answered with something that is of no use."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or Usage()
