"""The curator's desk with a queue, and a curator in front of it."""

from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from skills.models import Suggestion
from tests.skills.desk import CURATOR, client_of, committed, make_staff


@pytest.fixture(scope="module")
def world_of_the_desk(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Suggestion]]:
    with committed(django_db_blocker) as queue:
        yield queue


@pytest.fixture
def queue(world_of_the_desk: dict[str, Suggestion], db: None) -> dict[str, Suggestion]:
    return {name: Suggestion.objects.get(pk=row.pk) for name, row in world_of_the_desk.items()}


@pytest.fixture
def kim(queue: dict[str, Suggestion]) -> Client:
    return client_of(make_staff("kim", *CURATOR))
