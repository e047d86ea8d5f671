from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from tools_catalog.comparison import Segment
from tools_catalog.inspection import inspect_text, shown

register = template.Library()


@register.filter
def highlighted(segments: list[Segment], side: str) -> SafeString:
    """What differs from the other side is marked, hidden characters are written out, suspicious text stands out."""
    text = "".join(part for _, part in segments)
    marks = ["" for _ in text]
    at = 0
    for changed, part in segments:
        if changed:
            marks[at : at + len(part)] = [side] * len(part)
        at += len(part)
    for finding in inspect_text(text):
        for i in range(finding.start, finding.end):
            marks[i] = f"{marks[i]} {finding.kind}".strip()
    return mark_safe("".join(_runs(text, marks)))  # noqa: S308 - each piece is escaped


def _runs(text: str, marks: list[str]) -> list[str]:
    pieces: list[str] = []
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or marks[i] != marks[start]:
            run, mark = text[start:i], marks[start]
            said = shown(run) if "hidden" in mark else run
            pieces.append(format_html('<mark class="{}">{}</mark>', mark, said) if mark else escape(run))
            start = i
    return pieces
