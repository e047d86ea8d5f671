from django.db import models

from tenants.plans import STANDARD


class Tenant(models.Model):
    """Who owns a row. A row without a tenant is shared by all."""

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=255)
    plan = models.CharField(max_length=64, default=STANDARD, help_text="One of the plans in TOOLSCRIPT_PLANS.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class RateWindow(models.Model):
    """How often one client asked in this window and the one before. Nothing is lost with it."""

    key = models.CharField(max_length=64, primary_key=True)
    """A digest: addresses are not kept."""
    slot = models.BigIntegerField()
    count = models.PositiveIntegerField()
    before = models.PositiveIntegerField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
