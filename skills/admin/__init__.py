from skills.admin.skill import SkillAdmin

__all__ = ["SkillAdmin"]
