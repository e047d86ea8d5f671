from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from config.startup import admin_login, prepare
from core.errors import ToolscriptError


class Command(BaseCommand):
    help = (
        "Prepares the database: migrations and, where it is empty, the starter skills, the demo catalogue "
        "(TOOLSCRIPT_DEMO), the search index and an admin. Safe to run at every start."
    )
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            prepare(self.stdout.write)
        except ToolscriptError as exc:
            raise CommandError(exc.message) from None
        except OperationalError as exc:
            raise CommandError(f"The database is not reachable: {exc}") from None
        self.stdout.write(f"Admin login: {admin_login()}")
