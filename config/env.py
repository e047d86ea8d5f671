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


DECLARED: dict[str, Setting] = {}


def _read(name: str, default: T, parse: Callable[[str], T], hint: str) -> T:
    DECLARED[name] = Setting(name, default)
    raw = os.environ.get(name)
    if raw is None or raw.strip() == "":
        return default
    try:
        return parse(raw.strip())
    except ValueError:
        raise SettingError(f"toolscript: {name}={raw!r} is not valid: {hint}") from None


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


def words(name: str, default: tuple[str, ...]) -> list[str]:
    return _read(name, list(default), lambda raw: [w.strip() for w in raw.split(",") if w.strip()], "a comma list")


def folder(name: str, default: str) -> Path:
    return _read(name, Path(default).expanduser(), lambda raw: Path(raw).expanduser(), "a folder").absolute()
