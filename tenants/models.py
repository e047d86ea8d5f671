from django.conf import settings
from django.db import models
from django.db.models import Q

from tenants.plans import STANDARD


class Tenant(models.Model):
    """Who owns a row. A row without a tenant is shared by all."""

    slug = models.SlugField(max_length=64, unique=True, help_text="The claim `tenant_id` of a token.")
    name = models.CharField(max_length=255)
    plan = models.CharField(max_length=64, default=STANDARD, help_text="One of the plans in TOOLSCRIPT_PLANS.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A credential for machines. The key itself is shown once and not kept: only its digest is."""

    without_tenant = "hidden"

    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True, related_name="api_keys")
    name = models.CharField(max_length=255, help_text="What it is for. It stands in logs.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    may_write = models.BooleanField(default=True, help_text="May change the tenant's own rows and call tools.")
    is_admin = models.BooleanField(
        "administrator", default=False, help_text="May also change what is shared by all tenants."
    )
    created_by = models.CharField(max_length=150, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name", "id"]
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(condition=Q(is_admin=False) | Q(may_write=True), name="api_key_admin_writes"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class Membership(models.Model):
    """A member of staff who works for one tenant: the admin shows them that tenant's rows and what is shared."""

    without_tenant = "hidden"

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="membership")
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")

    class Meta:
        verbose_name = "member of staff"
        verbose_name_plural = "members of staff"

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"


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
