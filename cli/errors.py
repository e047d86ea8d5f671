"""How commands fail: one line on stderr, and an exit code that scripts can branch on."""

from typing import Any

import click

from core.errors import ToolscriptError

OK = 0
FAILED = 1
WRONG_USE = 2
UNAVAILABLE = 3
"""Nobody answered, or not yet: the same command may work later."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell says of a program that was writing to `head`."""


class Failure(click.ClickException):
    """Ends a command with a message, a hint where there is one, and an exit code."""

    def __init__(self, message: str, *, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = code  # type: ignore[misc]  # click takes it from the instance


def no_database(error: Exception) -> Failure:
    """The driver says it in several lines; the first one says what is wrong."""
    reason = next(iter(str(error).splitlines()), "it does not answer")
    return Failure(f"The database is not reachable: {reason}", code=UNAVAILABLE)


def failure_of(error: ToolscriptError) -> Failure:
    """What a service refused, in the words it refused it with."""
    return Failure(with_fields(error.message, error.details), code=UNAVAILABLE if error.retryable else FAILED)


def with_fields(message: str, details: Any) -> str:
    """The message, and what is wrong with the other fields where it is about several."""
    fields = details.get("fields") if isinstance(details, dict) else None
    if not isinstance(fields, dict):
        return message
    lines = [f"{name}: {problem}" for name, problems in fields.items() for problem in problems]
    return "\n  ".join([message, *(line for line in lines if line != message)])
