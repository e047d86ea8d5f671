import uuid

from django.db import models


class CatalogVersion(models.Model):
    """Triggers change a row with every write to servers and tools, so that processes know when to read them again.

    A connection writes to a slot of its own: with one row for all, syncs would wait for each other's commits.
    """

    slot = models.PositiveSmallIntegerField(primary_key=True)
    version = models.UUIDField(default=uuid.uuid4)

    def __str__(self) -> str:
        return f"{self.slot}: {self.version}"
