"""The composition root. Importing it binds the Celery app, so that tasks find their broker."""

import os

# A matrix of some thousand prototypes is too small to share out: BLAS threads cost ten times what they save.
# Must stand before the first import of numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from config.celery import app as celery_app

__all__ = ["celery_app"]
