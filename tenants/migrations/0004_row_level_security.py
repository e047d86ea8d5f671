"""The role that policies bind, and what they ask. The policies themselves follow after the migrations: tenants/rls.py."""

from django.db import migrations

ROLE = """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'toolscript_tenant') THEN
            BEGIN
                CREATE ROLE toolscript_tenant NOLOGIN;
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of this server was faster
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'The database user may not create roles. A superuser must run: '
                        'CREATE ROLE toolscript_tenant NOLOGIN; GRANT toolscript_tenant TO %', current_user;
            END;
        END IF;
        IF NOT pg_has_role(current_user, 'toolscript_tenant', 'MEMBER') THEN
            EXECUTE format('GRANT toolscript_tenant TO %I', current_user);
        END IF;
    END $$
"""
TENANT = """
    CREATE FUNCTION toolscript_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('toolscript.tenant', true), '')::bigint $$
"""
MAY_SHARE = """
    CREATE FUNCTION toolscript_may_share() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT coalesce(current_setting('toolscript.shared', true), '') = 'write' $$
"""
# Who asks is found out before anything may be seen, so these two answer for the owner: one row to whoever can name it.
KEY = """
    CREATE FUNCTION toolscript_key(wanted text) RETURNS TABLE (
        id bigint, name varchar, digest varchar, may_write boolean, is_admin boolean, tenant_id bigint,
        tenant_active boolean, plan varchar, revoked boolean, expired boolean, unseen boolean
    ) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public
    AS $$
        SELECT k.id, k.name, k.digest, k.may_write, k.is_admin, k.tenant_id, t.is_active, t.plan,
               k.revoked_at IS NOT NULL, coalesce(k.expires_at <= now(), false),
               coalesce(k.last_used_at < now() - interval '1 minute', true)
        FROM tenants_apikey k LEFT JOIN tenants_tenant t ON t.id = k.tenant_id
        WHERE k.prefix = wanted
    $$
"""
NAMED = """
    CREATE FUNCTION toolscript_tenant_named(wanted text) RETURNS TABLE (id bigint, plan varchar)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public
    AS $$ SELECT t.id, t.plan FROM tenants_tenant t WHERE t.slug = wanted AND t.is_active $$
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0003_access")]
    operations = [
        migrations.RunSQL(ROLE, migrations.RunSQL.noop),  # other databases may use the role
        migrations.RunSQL(TENANT, "DROP FUNCTION toolscript_tenant CASCADE"),
        migrations.RunSQL(MAY_SHARE, "DROP FUNCTION toolscript_may_share CASCADE"),
        migrations.RunSQL(KEY, "DROP FUNCTION toolscript_key"),
        migrations.RunSQL(NAMED, "DROP FUNCTION toolscript_tenant_named"),
    ]
