"""What whoever asks may see, as reports and pages of the admin begin their queries."""

from django.db.models import QuerySet

from skills.models import Assignment, Skill, Suggestion
from tenants.visible import visible
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served


def skills_seen() -> QuerySet[Skill]:
    return visible(Skill.objects.all())


def suggestions_seen() -> QuerySet[Suggestion]:
    return visible(Suggestion.objects.all())


def assignments_seen() -> QuerySet[Assignment]:
    return visible(Assignment.objects.all(), "tool__server__tenant")


def served_seen() -> QuerySet[Tool]:
    return visible(tools_served(), "server__tenant")
