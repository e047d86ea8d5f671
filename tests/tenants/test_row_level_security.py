"""The second lock: Postgres hides and protects what belongs to another tenant, whatever the application asks."""

from contextlib import suppress
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, ProgrammingError, connection, transaction

from core import db, scope
from core.scope import ALL, SHARED, Scope
from skills.models import Assignment, Skill, SkillIndexVersion
from tenants import rls
from tenants.models import ApiKey, Tenant
from tests.tenants.people import Side, make_sides
from tools_catalog.models import Server, Tool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sides(transactional_db: None) -> tuple[Side, Side]:
    return make_sides()


def carries_tenant(model: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Written anew here: by a column, or by any foreign key that leads to one."""
    if model._meta.label == "tenants.Tenant" or "tenant_id" in {f.column for f in model._meta.concrete_fields}:
        return True
    parents = {f.related_model for f in model._meta.concrete_fields if f.is_relation} - {model} - seen
    return any(carries_tenant(parent, seen | {model}) for parent in parents)


def test_every_table_of_a_tenant_has_its_four_policies() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, array_agg(p.polcmd::text) FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid"
            " WHERE c.relrowsecurity GROUP BY c.relname"
        )
        found = {table: set(commands) for table, commands in cursor.fetchall()}
    ours = [m for m in apps.get_models() if m._meta.managed and not m._meta.proxy]
    wanted = {m._meta.db_table for m in ours if carries_tenant(m)}
    assert {"tools_catalog_tool", "mcp_unified_search", "skills_skillprototype", "tenants_apikey"} <= wanted
    assert {table for table in wanted if found.get(table) != {"r", "a", "w", "d"}} == set()


def test_the_role_owns_nothing_and_cannot_go_round_policies() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = %s", [scope.ROLE])
        assert cursor.fetchone() == (False, False, False)
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = %s::regrole", [scope.ROLE])
        assert cursor.fetchone() == (0,)


def test_policies_are_derived_once_and_then_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    rls.policies_apply()
    assert "policies_changed" not in capfd.readouterr().err


class TestReading:
    def test_each_sees_its_own_and_what_is_shared(self, sides: tuple[Side, Side]) -> None:
        for side, other in (sides, sides[::-1]):
            with scope.scoped(Scope(side.tenant.pk)):
                texts = " ".join(Tool.objects.values_list("description", flat=True))
                assert side.mark in texts
                assert "all may see" in texts
                assert other.mark not in texts
                assert set(Tenant.objects.all()) == {side.tenant}
                assert not ApiKey.objects.filter(tenant=other.tenant).exists()
                assert not Assignment.objects.filter(tool__server__tenant=other.tenant).exists()
        with scope.scoped(SHARED):
            assert {server.tenant_id for server in Server.objects.all()} == {None}
            assert not ApiKey.objects.exists()
        assert Server.objects.count() == 3

    def test_every_table_hides_the_others_rows(self, sides: tuple[Side, Side]) -> None:
        """Counted table by table: what one tenant sees plus what the other has is never more than there is."""
        for model in rls.protected_models():
            table = model._meta.db_table
            counts = {}
            for name, seen_by in {"all": ALL, "shared": SHARED, **{s.mark: Scope(s.tenant.pk) for s in sides}}.items():
                with scope.scoped(seen_by):
                    counts[name] = model._default_manager.count()
            own = sum(counts[side.mark] - counts["shared"] for side in sides)
            assert counts["shared"] + own <= counts["all"], table
            with scope.scoped(SHARED):
                everybody = set(model._default_manager.values_list("pk", flat=True))
            seen = []
            for side in sides:
                with scope.scoped(Scope(side.tenant.pk)):
                    seen.append(set(model._default_manager.values_list("pk", flat=True)) - everybody)
            assert seen[0] & seen[1] == set(), table

    def test_the_view_of_searches_shows_the_same_rows_as_the_table(self, sides: tuple[Side, Side]) -> None:
        for seen_by in (ALL, SHARED, *(Scope(side.tenant.pk) for side in sides)):
            with scope.scoped(seen_by):
                table = db.fetch("SELECT tool_id FROM mcp_unified_search ORDER BY 1", timeout=5)
                assert db.fetch("SELECT tool_id FROM mcp_unified_search_seen ORDER BY 1", timeout=5) == table

    def test_the_index_of_skill_ids_is_used_through_the_view(self, sides: tuple[Side, Side]) -> None:
        asked = "EXPLAIN SELECT 1 FROM {} WHERE skill_ids && ARRAY['x']::varchar[]"
        with scope.scoped(Scope(sides[0].tenant.pk)), connection.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off")
            cursor.execute(asked.format("mcp_unified_search_seen"))
            assert "tool_vector_skill_ids" in str(cursor.fetchall())
            cursor.execute("RESET enable_seqscan")


class TestWriting:
    def test_another_tenants_row_cannot_be_touched(self, sides: tuple[Side, Side]) -> None:
        mine, other = sides
        with scope.scoped(Scope(mine.tenant.pk)):
            assert Tool.objects.filter(pk__in=[t.pk for t in other.tools.values()]).update(name="x") == 0
            assert Skill.objects.filter(pk=other.skill.pk).delete()[0] == 0
            with pytest.raises(ProgrammingError, match="row-level security"):
                Server.objects.create(name="stolen", tenant=other.tenant)
            with pytest.raises(ProgrammingError, match="row-level security"):
                Server.objects.filter(tenant=mine.tenant).update(tenant=other.tenant)

    def test_what_is_shared_is_changed_by_administrators_only(self, sides: tuple[Side, Side]) -> None:
        mine, _ = sides
        shared = Tool.objects.get(server__tenant=None)
        with scope.scoped(Scope(mine.tenant.pk)):
            assert Tool.objects.filter(pk=shared.pk).update(name="x") == 0
            with pytest.raises(ProgrammingError, match="row-level security"):
                Skill.objects.create(pk="shared_one", name="n", description="A description.")
            with pytest.raises(ProgrammingError, match="row-level security"):
                Assignment.objects.create(tool=shared, skill=mine.skill, confidence=0.5, source="human")
        with scope.scoped(Scope(None, shared_writes=True)):
            assert Tool.objects.filter(pk=shared.pk).update(name="renamed") == 1

    def test_own_tools_may_be_filed_under_shared_skills(self, sides: tuple[Side, Side]) -> None:
        mine, other = sides
        with scope.scoped(Scope(mine.tenant.pk)):
            row = Assignment(
                tool=mine.tools["list_events"], skill_id="calendar_management", confidence=0.5, source="human"
            )
            row.save()
            with pytest.raises((ProgrammingError, IntegrityError)):
                Assignment.objects.create(
                    tool=mine.tools["plan_day"], skill=other.skill, confidence=0.5, source="human"
                )


class TestDjangosConnection:
    def seen(self) -> int:
        return Server.objects.count()

    def test_a_rollback_does_not_open_the_lock(self, sides: tuple[Side, Side]) -> None:
        """`SET ROLE` inside a transaction ends with its rollback, without a word."""
        assert self.seen() == 3
        with scope.scoped(SHARED):
            with suppress(RuntimeError), transaction.atomic():
                assert self.seen() == 1
                raise RuntimeError
            assert self.seen() == 1
            with transaction.atomic():
                with pytest.raises(IntegrityError), transaction.atomic():
                    SkillIndexVersion.objects.create(pk=2)  # a savepoint of its own, rolled back
                assert self.seen() == 1
        assert self.seen() == 3

    def test_a_scope_that_changes_inside_a_transaction(self, sides: tuple[Side, Side]) -> None:
        with transaction.atomic():
            assert self.seen() == 3
            with scope.scoped(Scope(sides[0].tenant.pk)):
                assert self.seen() == 2
            assert self.seen() == 3

    def test_a_new_connection_begins_anew(self, sides: tuple[Side, Side]) -> None:
        with scope.scoped(SHARED):
            assert self.seen() == 1
            connection.close()
            assert self.seen() == 1
        connection.close()
        assert self.seen() == 3


def test_the_raw_connection_obeys_too_and_again_after_it_was_replaced(sides: tuple[Side, Side]) -> None:
    count = "SELECT count(*) FROM tools_catalog_server"
    assert db.fetch(count, timeout=5) == [(3,)]
    with scope.scoped(SHARED):
        assert db.fetch(count, timeout=5) == [(1,)]
        db.close_all()
        assert db.fetch(count, timeout=5) == [(1,)]
    assert db.fetch(count, timeout=5) == [(3,)]
