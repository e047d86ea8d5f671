from skills.models.classification import ClassificationRun, ClassificationSwitch, ToolClassification
from skills.models.index import SkillIndexVersion, SkillPrototype, SkillTextVector, SkillVector
from skills.models.skill import SKILL_ID, Assignment, Skill, SkillAlias
from skills.models.suggestion import Suggestion, SuggestionAsker, SuggestionDecision

__all__ = [
    "SKILL_ID",
    "Assignment",
    "ClassificationRun",
    "ClassificationSwitch",
    "Skill",
    "SkillAlias",
    "SkillIndexVersion",
    "SkillPrototype",
    "SkillTextVector",
    "SkillVector",
    "Suggestion",
    "SuggestionAsker",
    "SuggestionDecision",
    "ToolClassification",
]
