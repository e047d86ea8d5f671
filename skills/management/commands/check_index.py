from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.errors import ToolscriptError
from skills.services.index_check import Finding, index_check, index_repair


class Command(BaseCommand):
    help = (
        "Compares the search index with what it is made from: vectors, filter columns, skill ids, centroids and "
        "prototypes. Exits with 1 where they differ. With --repair, mends the index and compares again. "
        "Example: manage.py check_index --repair"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="build again what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            findings = self.report(index_check())
            if options["repair"] and any(finding.count for finding in findings):
                index_repair()
                self.stdout.write("\nAfter the repair:")
                findings = self.report(index_check())
        except ToolscriptError as exc:
            raise CommandError(exc.message) from None
        if any(finding.count for finding in findings):
            raise CommandError("Index and truth differ." + ("" if options["repair"] else " --repair mends the index."))
        self.stdout.write(self.style.SUCCESS("Index and truth agree."))

    def report(self, findings: list[Finding]) -> list[Finding]:
        for finding in findings:
            self.stdout.write(f"{finding.count:>8}  {finding.what}")
        return findings
