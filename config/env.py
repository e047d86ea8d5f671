"""Reads settings from the environment, remembers which ones exist, and refuses bad values at start."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


class SettingError(SystemExit):
    """A setting that cannot be used. Exits with one readable line instead of a stack trace."""


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: object
    value: object
    given: bool
    """Whether the environment gives it."""


DECLARED: dict[str, Setting] = {}
PROBLEMS: list[str] = []
"""Filled instead of stopping at the first, for whoever wants to hear of all: `toolscript config`."""


def _read(name: str, default: T, parse: Callable[[str], T], hint: str) -> T:
    raw = (os.environ.get(name) or "").strip()
    value = default
    if raw:
        try:
            value = parse(raw)
        except ValueError:
            _refuse(f"{name}={os.environ[name]!r} is not valid: {hint}")
    DECLARED[name] = Setting(name, default, value, bool(raw))
    return value


def _refuse(problem: str) -> None:
    if os.environ.get("TOOLSCRIPT_COLLECT_PROBLEMS") != "1":
        raise SettingError(f"toolscript: {problem}") from None
    PROBLEMS.append(problem)


def text(name: str, default: str = "") -> str:
    return _read(name, default, str, "text")


def choice(name: str, default: str, options: tuple[str, ...]) -> str:
    def parse(raw: str) -> str:
        if raw not in options:
            raise ValueError
        return raw

    return _read(name, default, parse, f"one of {', '.join(options)}")


def flag(name: str, default: bool) -> bool:
    def parse(raw: str) -> bool:
        if raw.lower() in TRUE:
            return True
        if raw.lower() in FALSE:
            return False
        raise ValueError

    return _read(name, default, parse, "true or false")


def integer(name: str, default: int, low: int, high: int) -> int:
    def parse(raw: str) -> int:
        value = int(raw)
        if not low <= value <= high:
            raise ValueError
        return value

    return _read(name, default, parse, f"a whole number from {low} to {high}")


def decimal(name: str, default: float, low: float, high: float) -> float:
    return _bounded(name, default, low, high, "a number")


def seconds(name: str, default: float, low: float = 0.0, high: float = 600.0) -> float:
    return _bounded(name, default, low, high, "seconds")


def _bounded(name: str, default: float, low: float, high: float, what: str) -> float:
    def parse(raw: str) -> float:
        value = float(raw)
        if not low <= value <= high:
            raise ValueError
        return value

    return _read(name, default, parse, f"{what} from {low:g} to {high:g}")


def share(name: str, default: float) -> float:
    def parse(raw: str) -> float:
        value = float(raw)
        if not 0 <= value <= 1:
            raise ValueError
        return value

    return _read(name, default, parse, "a number from 0 to 1")


def words(name: str, default: tuple[str, ...]) -> list[str]:
    return _read(name, list(default), lambda raw: [w.strip() for w in raw.split(",") if w.strip()], "a comma list")


def folder(name: str, default: str) -> Path:
    return _read(name, Path(default).expanduser(), lambda raw: Path(raw).expanduser(), "a folder").absolute()
