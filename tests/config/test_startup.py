from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from pytest_django import Settings

from config.startup import LOG_BYTES, FirstSyncs, admin_login, base_url, prepare, programs
from tools_catalog.models import EmbeddingSpace, Server, SyncRun, Tool
from tools_catalog.services.spaces import index_usable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def test_an_admin_is_made_once_and_shown_while_its_password_holds() -> None:
    login = admin_login()
    assert login == admin_login()
    assert login.startswith("admin / ")
    admin = get_user_model().objects.get()
    assert admin.check_password(login.removeprefix("admin / "))
    admin.set_password("another one")
    admin.save()
    assert admin_login() == "admin / the password you chose"


def test_a_given_password_is_used_and_neither_shown_nor_kept(settings: Settings, folder: Path) -> None:
    settings.ADMIN_PASSWORD = "a given password"
    assert admin_login() == "admin / the password you chose"
    assert get_user_model().objects.get().check_password("a given password")
    assert not (folder / "admin_password").exists()


def test_an_admin_of_another_name_is_left_alone() -> None:
    get_user_model().objects.create_superuser("somebody", password="x")
    assert admin_login() == "your own"
    assert get_user_model().objects.count() == 1


def test_an_empty_database_is_filled_once() -> None:
    said: list[str] = []
    prepare(said.append)
    assert said == ["Starter skills: 42", "Demo catalogue: 157 tools"]
    assert EmbeddingSpace.objects.get().is_live
    said.clear()
    prepare(said.append)
    assert said == []


def test_an_index_made_with_other_weights_is_built_again_before_the_start(settings: Settings) -> None:
    settings.DEMO = False
    prepare(lambda text: None)
    EmbeddingSpace.objects.update(fingerprint="of weights that are gone")
    assert not index_usable()
    prepare(lambda text: None)
    assert index_usable()


def test_the_demo_can_be_left_out(settings: Settings) -> None:
    settings.DEMO = False
    prepare(lambda text: None)
    assert not Tool.objects.exists()
    assert EmbeddingSpace.objects.get().is_live


def test_a_large_log_is_put_aside(folder: Path) -> None:
    (folder / "logs").mkdir()
    for name, size in (("web.log", LOG_BYTES + 1), ("worker.log", 10)):
        with (folder / "logs" / name).open("wb") as log:
            log.truncate(size)
    programs()
    assert {p.name for p in (folder / "logs").iterdir()} == {"web.log.1", "worker.log"}


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:8000"), ("::1", "http://[::1]:8000"), ("localhost", "http://localhost:8000")],
)
def test_the_address_that_is_printed_can_be_opened(settings: Settings, host: str, url: str) -> None:
    settings.HOST, settings.PORT = host, 8000
    assert base_url() == url


def test_a_sync_that_ended_before_anybody_looked_is_said_too() -> None:
    now = timezone.now()
    server = Server.objects.create(name="quick", transport="stdio", command="x", due_at=now)
    ended = {"server": server, "trigger": SyncRun.Trigger.START, "state": SyncRun.State.DONE, "finished_at": now}
    SyncRun.objects.create(**ended, created=1)
    syncs = FirstSyncs()
    SyncRun.objects.create(**ended, created=7)
    Server.objects.update(due_at=None)
    said: list[str] = []
    syncs.report(said.append, lambda: False)
    assert said == ["  quick: 7 items"]
