"""For commands that work on the database themselves: Django, set up once, with the embedded Postgres running."""

import os


def set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from django.conf import settings

    if settings.EMBEDDED_POSTGRES is not None:
        settings.EMBEDDED_POSTGRES.start()
