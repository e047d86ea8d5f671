"""Structured JSON logs, one line an event, with the request id in each."""

import logging
from typing import Any

import orjson
import structlog

SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def _dumps(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=repr)


class JsonFormatter(structlog.stdlib.ProcessorFormatter):
    """For the libraries that use the standard logging module."""

    def __init__(self) -> None:
        super().__init__(
            foreign_pre_chain=[*SHARED, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(serializer=lambda event, **kw: _dumps(event).decode()),
            ],
        )


def configure(level: str) -> dict[str, Any]:
    """Sets structlog up and returns the dictionary for Django's LOGGING."""
    structlog.configure(
        processors=[*SHARED, structlog.processors.JSONRenderer(serializer=_dumps)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        # Straight to the descriptor: a line is one write, whole among those of other threads and processes.
        logger_factory=structlog.BytesLoggerFactory(file=open(2, "wb", buffering=0, closefd=False)),  # noqa: SIM115
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "core.logs.JsonFormatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Answers with a 4xx or 5xx are in our own access line already.
            "django.request": {"level": "CRITICAL"},
            "django.server": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "mcp.server": {"level": "WARNING"},
            # What MCP servers write and where they are can hold secrets; we say what failed ourselves.
            "mcp.client": {"level": "CRITICAL"},
            "client": {"level": "CRITICAL"},  # the name that the SDK's client session logs under
            "mcp.shared": {"level": "CRITICAL"},
            "httpx": {"level": "WARNING"},
            # What is odd about a PDF is of no use to anyone as long as it can be read.
            "pypdf": {"level": "ERROR"},
        },
    }
