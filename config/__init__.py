"""The composition root. Importing it binds the Celery app, so that tasks find their broker."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
