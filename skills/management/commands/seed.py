from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from skills.services.starter import demo_catalog_create, starter_skills_create


class Command(BaseCommand):
    help = (
        "Creates the starter skills where there are no skills, and with --demo a catalogue of fictional servers "
        "where there are no servers. What exists is left alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="also the demo catalogue")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{starter_skills_create()} starter skills created.")
        if options["demo"]:
            self.stdout.write(f"{demo_catalog_create()} demo tools created.")
