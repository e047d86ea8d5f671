"""Spans through OpenTelemetry where it is installed, nothing where it is not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

trace: Any
try:
    from opentelemetry import trace
except ImportError:
    trace = None


@contextmanager
def span(name: str) -> Iterator[Any]:
    if trace is None:
        yield None
        return
    with trace.get_tracer("toolscript").start_as_current_span(name) as current:
        yield current


def annotate(current: Any, attributes: Mapping[str, str | int | float | bool]) -> None:
    if current is not None:
        current.set_attributes(attributes)
