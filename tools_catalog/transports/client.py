"""One way to an initialised client of the official SDK, whatever the transport and the protocol generation."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

import httpx2
import pydantic
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from core.errors import ToolscriptError, UpstreamError, UpstreamTimeout, ValidationFailed
from tools_catalog.transports import TRANSPORTS
from tools_catalog.transports.diagnosis import Diagnosis
from tools_catalog.transports.references import Secrets, resolve
from tools_catalog.transports.streams import Streams
from tools_catalog.transports.tolerant import Tap, tolerant
from tools_catalog.transports.watch import Watch, watched
from tools_catalog.types import Target

CLIENT_INFO = Implementation(name="toolscript", version="1")


@asynccontextmanager
async def connect(
    target: Target,
    *,
    seconds: float,
    message_handler: MessageHandlerFnT | None = None,
    tap: Tap | None = None,
    watch: Watch | None = None,
) -> AsyncIterator[Client]:
    """Yields a client that has shaken hands. Secrets are read from the environment now, and kept nowhere.

    `seconds` is the deadline for connecting; the session itself may live as long as its user wants, but has to be
    left by the task that entered it. Whatever goes wrong, also later inside the block, becomes one of our errors,
    without a secret in it.
    """
    resolved, secrets = resolve(target)
    diagnosis = Diagnosis()
    if watch is not None:
        watch.secrets, watch.diagnosis = secrets, diagnosis
    try:
        async with AsyncExitStack() as stack:
            yield await _connected(
                stack, resolved, diagnosis, seconds=seconds, message_handler=message_handler, tap=tap, watch=watch
            )
    except Exception as exc:
        raise translated(exc, target.name, secrets, diagnosis) from None


async def _connected(
    stack: AsyncExitStack,
    target: Target,
    diagnosis: Diagnosis,
    *,
    seconds: float,
    message_handler: MessageHandlerFnT | None,
    tap: Tap | None,
    watch: Watch | None,
) -> Client:
    """Both generations: the one that worked last time first. Some servers hang or die when asked in the other."""
    legacy_first = target.protocol in HANDSHAKE_PROTOCOL_VERSIONS
    modes = ["legacy", "auto"] if legacy_first else ["auto", "legacy"]
    for mode in modes:
        attempt = AsyncExitStack()
        transport = _transport(target, diagnosis, tap, watch)
        client = Client(
            transport, mode=mode, message_handler=message_handler, client_info=CLIENT_INFO, read_timeout_seconds=None
        )
        try:
            # Not a cancel scope of anyio: the client's task groups outlive this block. And never one time-out around
            # another: a second cancellation while a server's process is being ended would leave it running.
            async with asyncio.timeout(seconds / len(modes)):
                await attempt.enter_async_context(client)
        except Exception as exc:
            with contextlib.suppress(Exception):
                await attempt.aclose()
            if mode == modes[-1] or _is_hopeless(exc):
                raise
            continue
        stack.push_async_exit(attempt)
        return client
    raise AssertionError("unreachable")


@asynccontextmanager
async def _transport(
    target: Target, diagnosis: Diagnosis, tap: Tap | None, watch: Watch | None
) -> AsyncIterator[Streams]:
    if target.transport not in TRANSPORTS:
        raise ValidationFailed(f"{target.name} was imported: there is no connection to it.")
    module, _, function = TRANSPORTS[target.transport].partition(":")
    async with getattr(import_module(module), function)(target, diagnosis) as pair:
        if watch is not None:
            watch.ended.clear()  # an attempt before this one may have ended
        yield watched(tolerant(pair, tap), watch)


def _is_hopeless(exc: BaseException) -> bool:
    """There is no program, or nobody at the address: the other generation will not help."""
    return any(isinstance(leaf, OSError | httpx2.TransportError | ToolscriptError) for leaf in leaves(exc)) and not any(
        isinstance(leaf, TimeoutError | httpx2.RemoteProtocolError | BrokenPipeError | ConnectionResetError)
        for leaf in leaves(exc)
    )


def leaves(exc: BaseException) -> list[BaseException]:
    """The errors inside the groups that task groups raise."""
    if isinstance(exc, BaseExceptionGroup):
        return [leaf for inner in exc.exceptions for leaf in leaves(inner)]
    return [exc]


def translated(exc: BaseException, name: str, secrets: Secrets, diagnosis: Diagnosis) -> ToolscriptError:
    found = leaves(exc)
    hint = diagnosis.hint(secrets)
    ours = next((leaf for leaf in found if isinstance(leaf, ToolscriptError)), None)
    if ours is not None:
        ours.message = secrets.hide(ours.message) + (hint if isinstance(ours, UpstreamError) else "")
        ours.details = secrets.hide_in(ours.details)
        ours.args = (ours.message,)
        return ours
    if any(isinstance(leaf, TimeoutError | httpx2.TimeoutException) for leaf in found):
        return UpstreamTimeout(f"{name} did not answer in time.{hint}")
    return UpstreamError(f"{name}: {_words(found[0], secrets)}{hint}")


def _words(exc: BaseException, secrets: Secrets) -> str:
    if isinstance(exc, FileNotFoundError):
        return f"there is no program or folder {secrets.hide(repr(exc.filename))}. Check command and cwd."
    if isinstance(exc, PermissionError):
        return f"{secrets.hide(repr(exc.filename))} may not be run."
    if isinstance(exc, httpx2.ConnectError):
        return "nobody answers at its address."
    if isinstance(exc, httpx2.TransportError | httpx2.HTTPStatusError):
        return f"the connection failed ({type(exc).__name__})."
    if isinstance(exc, MCPError):
        return f"it answered with an error: {secrets.hide(exc.message)[:500]}."
    if isinstance(exc, pydantic.ValidationError):
        return "its answer is not of the form that the protocol asks for."
    return secrets.hide(f"{type(exc).__name__}: {exc}")[:500]
