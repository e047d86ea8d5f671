from skills.admin.capability import CapabilityAdmin
from skills.admin.classification import ClassificationRunAdmin
from skills.admin.skill import SkillAdmin
from skills.admin.suggestion import SuggestionAdmin

__all__ = ["CapabilityAdmin", "ClassificationRunAdmin", "SkillAdmin", "SuggestionAdmin"]
