from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.startup import ADMIN, admin_password, prepare
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
        if password := admin_password():
            self.stdout.write(f"Admin login: {ADMIN} / {password}")
