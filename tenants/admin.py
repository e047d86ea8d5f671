from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import admin as accounts
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from core import scope
from core.errors import Forbidden, NotFound
from tenants.models import ApiKey, Membership, Tenant
from tenants.services.keys import key_create, key_revoke
from tenants.visible import visible


class TenantRows(ModelAdmin):
    """For tables whose rows belong to a tenant: staff of a tenant see its rows and the shared ones, and change its own.

    `tenant_path` leads to the tenant. Row-level security holds the same rule below this one.
    """

    tenant_path = "tenant"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.visible(super().get_queryset(request))

    @property
    def is_hidden_without_tenant(self) -> bool:
        return bool(getattr(self.model, "without_tenant", "shared") == "hidden")

    def visible(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.is_hidden_without_tenant:
            return self.changeable(queryset)
        return visible(queryset, self.tenant_path)

    def changeable(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        mine = scope.current()
        if mine.everything:
            return queryset
        if mine.tenant_id is None and self.is_hidden_without_tenant:
            return queryset.none()
        return queryset.filter(**{self.tenant_path: mine.tenant_id})

    def is_changeable(self, obj: Model | None) -> bool:
        if obj is None or scope.current().everything:
            return True
        return self.changeable(self.model._default_manager.filter(pk=obj.pk)).exists()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Where rows without a tenant are hidden, staff without one would make what they may not see."""
        mine = scope.current()
        nobodys = self.is_hidden_without_tenant and not mine.everything and mine.tenant_id is None
        return not nobodys and bool(super().has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super().has_change_permission(request, obj)) and self.is_changeable(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super().has_delete_permission(request, obj)) and self.is_changeable(obj)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Actions leave what is not theirs alone."""
        answer: HttpResponse | None = super().response_action(request, self.changeable(queryset))
        return answer

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> Any:
        given = list(super().get_exclude(request, obj) or ())
        return given if scope.current().everything else [*given, "tenant"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        hidden = set(self.get_exclude(request, obj))
        return [field for field in super().get_fields(request, obj) if field not in hidden]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        self.own(obj, change=change)
        super().save_model(request, obj, form, change)

    def own(self, obj: Any, *, change: bool) -> None:
        """What staff of a tenant create is that tenant's."""
        mine = scope.current()
        if not change and not mine.everything and hasattr(obj, "tenant_id"):
            obj.tenant_id = mine.tenant_id


class ForTheWholeService(ModelAdmin):
    """For what works for all tenants at once: staff of a tenant have nothing to see or to do there."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return not is_of_a_tenant() and bool(super().has_module_permission(request))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not is_of_a_tenant() and bool(super().has_view_permission(request, obj))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return not is_of_a_tenant() and bool(super().has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not is_of_a_tenant() and bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not is_of_a_tenant() and bool(super().has_delete_permission(request, obj))


def is_of_a_tenant() -> bool:
    """Whether the member of staff who asks belongs to a tenant."""
    return scope.current().tenant_id is not None


def is_member(user: User | None) -> bool:
    """Whether an account works for a tenant, whoever asks."""
    with scope.scoped(scope.ALL):
        return user is not None and Membership.objects.filter(user=user).exists()


def require_own(tenant_id: int | None, what: str) -> None:
    """Refuses staff of a tenant what is shared, in words, before row-level security does."""
    mine = scope.current()
    if mine.everything or mine.tenant_id == tenant_id:
        return
    if tenant_id is None:
        raise Forbidden(f"{what} is shared by all tenants, and you may change only what is your tenant's.")
    raise NotFound(f"{what} does not exist.")


class OnlySuperusers(ModelAdmin):
    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(accounts.UserAdmin, ForTheWholeService):  # type: ignore[type-arg]
    """Accounts are not a tenant's: whoever may change one could make it a superuser's."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """With an account goes its membership, and members of staff are for superusers."""
        return super().has_delete_permission(request, obj) and (request.user.is_superuser or not is_member(obj))


@admin.register(Group)
class GroupAdmin(accounts.GroupAdmin, ForTheWholeService):
    pass


class TenantForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_plan(self) -> str:
        """A plan that nobody defined would be the standard one, without a word."""
        plan = str(self.cleaned_data["plan"])
        if plan not in settings.PLANS:
            raise forms.ValidationError(f"There is no plan {plan}. Known are: {', '.join(sorted(settings.PLANS))}.")
        return plan


@admin.register(Tenant)
class TenantAdmin(OnlySuperusers):
    form = TenantForm
    list_display = ("name", "slug", "plan", "is_active", "created_at")
    list_filter = ("is_active", "plan")
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}


@admin.register(Membership)
class MembershipAdmin(OnlySuperusers):
    list_display = ("user", "tenant")
    list_filter = ("tenant",)
    autocomplete_fields = ("tenant",)


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("is_admin") and not cleaned.get("may_write"):
            self.add_error("may_write", "An administrator's key must be allowed to write.")
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(TenantRows):
    """Keys are made here and revoked here. They are not edited, and what a key is, is shown once."""

    form = ApiKeyForm
    list_display = ("name", "prefix", "tenant", "may_write", "is_admin", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("is_admin", "may_write", "tenant")
    search_fields = ("name", "prefix")
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        new = ["name", "tenant", "may_write", "is_admin", "expires_at"]
        fields = new if obj is None else [*new, "prefix", "created_by", "created_at", "last_used_at", "revoked_at"]
        hidden = set() if scope.current().everything else {"tenant", "is_admin"}
        return [field for field in fields if field not in hidden]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a revoked key stays in the list, so that logs can be read later

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("tenants.change_apikey"))

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        self.own(obj, change=change)
        row, request.new_key = key_create(  # type: ignore[attr-defined]
            name=obj.name,
            tenant=obj.tenant,
            may_write=obj.may_write,
            is_admin=obj.is_admin,
            expires_at=obj.expires_at,
            created_by=request.user.get_username(),
        )
        obj.pk = row.pk

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The page itself shows the key: no message and no redirect may keep it."""
        context = {**self.admin_site.each_context(request), "title": "The key was made", "name": obj.name}
        page = {**context, "key": request.new_key, "opts": self.opts}  # type: ignore[attr-defined]
        response = TemplateResponse(request, "admin/tenants/key_created.html", page)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke: it opens nothing any more", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            key_revoke(key, by=request.user.get_username())
        self.message_user(request, f"{len(queryset)} revoked.")
