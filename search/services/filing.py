"""Files the tools of a scratch catalogue under the skills whose texts are nearest: enough to try the strategies."""

import numpy as np

from skills.models import Assignment, SkillVector
from skills.services.skill_index import payload_sync
from tools_catalog.models import ToolVector

MOST = 3
CLOSE = 0.05
"""A second and third skill must be about as near as the first."""


def file_by_nearest() -> int:
    skills = list(SkillVector.objects.filter(space__is_live=True, is_active=True).order_by("skill_id"))
    tools = list(ToolVector.objects.filter(space__is_live=True).order_by("tool_id").values_list("tool_id", "vector"))
    if not skills or not tools:
        return 0
    texts = np.array([skill.vector for skill in skills], dtype=np.float32)
    rows = []
    for tool_id, vector in tools:
        near = texts @ np.asarray(vector, dtype=np.float32)
        order = np.argsort(-near)[:MOST]
        for place, index in enumerate(i for i in order if near[i] >= near[order[0]] - CLOSE):
            rows.append(
                Assignment(
                    tool_id=tool_id,
                    skill_id=skills[index].skill_id,
                    confidence=float(np.clip(near[index], 0, 1)),
                    is_primary=place == 0,
                    source=Assignment.Source.NEAREST,
                )
            )
    Assignment.objects.bulk_create(rows, batch_size=2000)
    payload_sync(None)
    return len(rows)
