"""A command on this machine that speaks over stdin and stdout."""

import errno
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from tools_catalog.transports.diagnosis import Diagnosis, StderrPipe
from tools_catalog.transports.streams import Streams
from tools_catalog.types import Target

# Linux: a server that looks at neither its stdin nor its parent ends with us all the same, even if we are killed.
# (The SDK starts the process itself, so the only place to ask for that is in front of the server's own program.)
END_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def refuse_missing(target: Target) -> None:
    """As if the program had been started without a detour."""
    search = {**get_default_environment(), **target.env}.get("PATH")
    program = str(Path(target.cwd) / target.command) if "/" in target.command else target.command
    if shutil.which(program, path=search) is None:
        if "/" in program and Path(program).is_file():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target.command)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), target.command)


@asynccontextmanager
async def streams(target: Target, diagnosis: Diagnosis) -> AsyncIterator[Streams]:
    refuse_missing(target)
    stderr = StderrPipe(diagnosis)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", "-c", END_WITH_PARENT, target.command, *target.args],
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
