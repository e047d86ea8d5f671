"""Row-level security, the second lock: Postgres itself hides what belongs to another tenant.

Policies are derived from the models and brought up to date after every `migrate`, so that a new table gets its own
without a line written for it. A table belongs to a tenant by its column `tenant_id`, or through its first foreign key
to a table that does. What it points to besides must be visible too.

A model says with `without_tenant = "hidden"` that its rows without a tenant are nobody's business, and with
`seen_through` the name of a view for searches. Under a policy Postgres may use no index whose operator could leak
(`&&`, `@@`, `<#>`), because it expects hostile SQL; the view hides the same rows and leaves the indexes alone.
"""

from typing import Any

import structlog
from django.apps import apps
from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from core import scope

log = structlog.get_logger("toolscript.tenants")
LOCK = 0x746E7473
MINE = "(SELECT toolscript_tenant())"
MAY_SHARE = "(SELECT toolscript_may_share())"
Model = type[models.Model]


def parents(model: Model) -> list[models.ForeignKey[Any, Any]]:
    """The foreign keys that lead to somebody's rows; the first one decides whose row this is."""
    keys = [f for f in model._meta.concrete_fields if isinstance(f, models.ForeignKey)]
    return [key for key in keys if key.related_model is not model and belongs_to_tenant(key.related_model)]


def has_tenant_column(model: Model) -> bool:
    return any(field.column == "tenant_id" for field in model._meta.concrete_fields)


def belongs_to_tenant(model: Model) -> bool:
    return model._meta.label == "tenants.Tenant" or has_tenant_column(model) or bool(parents(model))


def protected_models() -> list[Model]:
    return [m for m in apps.get_models() if m._meta.managed and not m._meta.proxy and belongs_to_tenant(m)]


def may_read(model: Model, row: str, *, in_view: bool = False) -> str:
    """SQL: whether the caller may see this row. A view asks for its owner, whom no policy of a parent binds."""
    if model._meta.label == "tenants.Tenant":
        return f"{row}.id = {MINE}"
    if has_tenant_column(model):
        hidden = getattr(model, "without_tenant", "shared") == "hidden"
        return f"{row}.tenant_id = {MINE}" + ("" if hidden else f" OR {row}.tenant_id IS NULL")
    return " AND ".join(f"({_leads_to(key, row, visible=True, in_view=in_view)})" for key in parents(model))


def may_write(model: Model, row: str) -> str:
    if model._meta.label == "tenants.Tenant":
        return "false"
    if has_tenant_column(model):
        hidden = getattr(model, "without_tenant", "shared") == "hidden"
        shared = "false" if hidden else f"{row}.tenant_id IS NULL AND {MAY_SHARE}"
        return f"{row}.tenant_id = {MINE} OR ({shared})"
    owner, *others = parents(model)
    rules = [_leads_to(owner, row, visible=False), *(_leads_to(key, row, visible=True) for key in others)]
    return " AND ".join(f"({rule})" for rule in rules)


def _leads_to(key: models.ForeignKey[Any, Any], row: str, *, visible: bool, in_view: bool = False) -> str:
    """Reading asks only whether the parent is there: its own policy answers that."""
    parent = key.related_model
    target = f"{parent._meta.db_table}.{key.target_field.column}"
    table = parent._meta.db_table
    rule = "" if visible else f" AND ({may_write(parent, table)})"
    if visible and in_view:
        rule = f" AND ({may_read(parent, table, in_view=True)})"
    found = f"EXISTS (SELECT FROM {parent._meta.db_table} WHERE {target} = {row}.{key.column}{rule})"
    if not key.null:
        return found
    return f"{row}.{key.column} IS NULL{'' if visible else f' AND {MAY_SHARE}'} OR {found}"


def policies(model: Model) -> dict[str, str]:
    """Name and SQL of what a table must have."""
    table = model._meta.db_table
    read, write = may_read(model, table), may_write(model, table)
    rules = {
        "SELECT": f"USING ({read})",
        "INSERT": f"WITH CHECK ({write})",
        "UPDATE": f"USING ({write}) WITH CHECK ({write})",
        "DELETE": f"USING ({write})",
    }
    return {f"toolscript_{command.lower()}": f"FOR {command} TO {scope.ROLE} {sql}" for command, sql in rules.items()}


def view(model: Model) -> str:
    """SQL of the view that searches read. Whoever is not bound by policies sees all of it."""
    free = f"(SELECT current_user <> '{scope.ROLE}')"
    table = model._meta.db_table
    return f"SELECT * FROM {table} WHERE {free} OR {may_read(model, table, in_view=True)}"  # noqa: S608 - all of it is ours


@transaction.atomic
def views_drop(plan: Any = (), **_: Any) -> None:
    """Before migrations that may change their tables."""
    if plan:
        with connection.cursor() as cursor:
            for model in protected_models():
                if name := getattr(model, "seen_through", None):
                    cursor.execute(f"DROP VIEW IF EXISTS {name}")


@transaction.atomic
def policies_apply(**_: Any) -> None:
    """After every migration. A policy that is as it should be is not touched: no lock is taken for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        cursor.execute("SELECT 1 FROM pg_proc WHERE proname = 'toolscript_may_share'")
        if cursor.fetchone() is None:  # only some of the migrations have run
            return
        tables = set(connection.introspection.table_names(cursor, include_views=True))
        models_here = [model for model in protected_models() if model._meta.db_table in tables]
        for model in models_here:
            if (name := getattr(model, "seen_through", None)) and name not in tables:
                cursor.execute(f"CREATE VIEW {name} AS {view(model)}")
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {scope.ROLE}")
        cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {scope.ROLE}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {scope.ROLE}")
        present = _policies_present()
        for model in models_here:
            _protect(model, present.get(model._meta.db_table, {}))


def _policies_present() -> dict[str, dict[str, str]]:
    """Table → policy → the SQL it was made from, which is kept as its comment."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, p.polname, coalesce(obj_description(p.oid, 'pg_policy'), '')"
            " FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relrowsecurity"
        )
        found: dict[str, dict[str, str]] = {}
        for table, name, comment in cursor.fetchall():
            found.setdefault(table, {})[name] = comment
    return found


def _protect(model: Model, present: dict[str, str]) -> None:
    table = model._meta.db_table
    wanted = policies(model)
    if wanted == present:
        return
    with connection.cursor() as cursor:
        for name in present:
            cursor.execute(f"DROP POLICY {name} ON {table}")
        cursor.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        for name, sql in wanted.items():
            cursor.execute(f"CREATE POLICY {name} ON {table} {sql}")
            cursor.execute(f"COMMENT ON POLICY {name} ON {table} IS %s", [sql])
    log.debug("tenants.policies_changed", table=table)


def on_connect(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Django's own connection obeys the scope too, before each statement."""
    connection.told_scope = scope.told(scope.ALL)  # type: ignore[attr-defined]
    connection.scope_unsure = False  # type: ignore[attr-defined]
    if obey not in connection.execute_wrappers:
        connection.execute_wrappers.append(obey)


def obey(execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    conn = context["connection"]
    wanted = scope.told(scope.current())
    if conn.told_scope != wanted or conn.scope_unsure:
        raw = conn.connection
        if raw.info.transaction_status != TransactionStatus.INERROR:  # then only a rollback can follow
            raw.execute(scope.TELL, wanted)
            conn.told_scope = wanted
            # A rollback would undo it without a word, so inside a transaction it is said each time.
            conn.scope_unsure = conn.in_atomic_block
    return execute(sql, params, many, context)
