"""A command on this machine that speaks over stdin and stdout."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client.stdio import StdioServerParameters, stdio_client

from tools_catalog.transports.diagnosis import Diagnosis, StderrPipe
from tools_catalog.transports.streams import Streams
from tools_catalog.types import Target


@asynccontextmanager
async def streams(target: Target, diagnosis: Diagnosis) -> AsyncIterator[Streams]:
    stderr = StderrPipe(diagnosis)
    parameters = StdioServerParameters(
        command=target.command,
        args=list(target.args),
        env=dict(target.env),
        cwd=target.cwd or None,
        encoding_error_handler="replace",
    )
    try:
        async with stdio_client(parameters, stderr.file) as pair:
            stderr.release()
            yield pair
    finally:
        stderr.close()
