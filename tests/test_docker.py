"""Docker cannot run everywhere, so what the two files say is held against the project."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

import config.settings  # noqa: F401 - declares the settings
from config import env
from tests.test_import_order import LEVEL

ROOT = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_all_parts_are_there() -> None:
    assert set(COMPOSE["services"]) == {"postgres", "redis", "prepare", "web", "worker", "beat", "listener"}


@pytest.mark.parametrize("name", ["prepare", "web", "worker", "beat", "listener"])
def test_every_variable_of_a_service_is_a_setting(name: str) -> None:
    assert set(COMPOSE["services"][name]["environment"]) <= set(env.DECLARED)


def test_every_command_exists() -> None:
    commands = [COMPOSE["services"][name]["command"] for name in ("prepare", "web", "listener")]
    assert [command[:2] for command in commands] == [["python", "manage.py"]] * 3
    assert {command[2] for command in commands} <= set(get_commands())


def test_whoever_needs_the_database_waits_for_it_to_be_prepared() -> None:
    for name in ("web", "worker", "beat", "listener"):
        assert COMPOSE["services"][name]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}
    assert set(COMPOSE["services"]["prepare"]["depends_on"]) == {"postgres", "redis"}


def test_every_volume_is_declared() -> None:
    used = {volume.split(":")[0] for s in COMPOSE["services"].values() for volume in s.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])


def test_the_image_holds_every_package() -> None:
    copied = set(re.findall(r"^COPY (\S+) ", DOCKERFILE, re.MULTILINE))
    assert set(LEVEL) | {"templates", "static", "manage.py", "pyproject.toml"} <= copied
    sources = [word for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()]
    assert [source for source in sources if not (ROOT / source).exists()] == []
