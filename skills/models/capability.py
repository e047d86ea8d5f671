from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from skills.models.skill import Skill


class Capability(models.Model):
    """Tools of one skill can also do the work of another: whoever has a shell can commit to Git."""

    provider = models.ForeignKey(Skill, models.CASCADE, related_name="serves", help_text="The skill whose tools can.")
    need = models.ForeignKey(Skill, models.CASCADE, related_name="served_by", help_text="The skill that is asked for.")
    weight = models.FloatField(
        default=0.5,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="How well, from 0 to 1. The gateway's search raises the tools of the provider by it.",
    )
    note = models.CharField(max_length=255, blank=True)

    class Meta:
        ordering = ["provider", "-weight", "need"]
        verbose_name_plural = "capabilities"
        constraints = [
            models.UniqueConstraint(fields=["provider", "need"], name="capability_unique"),
            models.CheckConstraint(condition=~Q(provider=F("need")), name="capability_of_another_skill"),
            models.CheckConstraint(condition=Q(weight__gte=0) & Q(weight__lte=1), name="capability_weight_range"),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} serves {self.need_id}"
