"""What a reviewer should look at twice in a definition: characters that cannot be seen, and text that gives orders.

Nothing here decides. It points, so that a person does not have to find it.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["hidden", "lookalike", "instruction"]


@dataclass(frozen=True, slots=True)
class Finding:
    kind: Kind
    what: str
    start: int
    end: int
    path: str = ""
    """Where in the definition, such as `input_schema.properties.city.description`."""
    text: str = ""
    """What was found, with a few characters around it; hidden characters by their numbers."""


VISIBLE_CONTROLS = "\t\n\r"
BLANK_LETTERS = {
    0x034F: "combining grapheme joiner",
    0x115F: "Hangul filler",
    0x1160: "Hangul filler",
    0x17B4: "Khmer vowel without a form",
    0x17B5: "Khmer vowel without a form",
    0x2800: "blank Braille pattern",
    0x3164: "Hangul filler",
    0xFFA0: "Hangul filler",
}
JOINERS = {0x200C, 0x200D}
TAGS = range(0xE0000, 0xE0080)
SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
EMPTY_STRETCH = re.compile(r"[ \t]{80,}|(?:[ \t]*\n){12,}")

# Each is bounded, so that no text makes the search slow.
INSTRUCTIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern, re.IGNORECASE))
    for what, pattern in (
        (
            "tells the reader to ignore what it was told",
            (
                r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
                r"\b(?:previous|prior|earlier|above|other|all|any|system|safety)\b"
                r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?|directions?|restrictions?)\b"
            ),
        ),
        (
            "claims a new role for the reader",
            r"\b(?:you are now|from now on,? you|act as (?:if you|an? (?:admin|root))|pretend (?:to be|you))\b",
        ),
        ("speaks of the system prompt", r"\bsystem (?:prompt|message|instruction)s?\b"),
        (
            "asks to keep something from the user",
            (
                r"\b(?:do not|don't|never|without)\s+(?:\w+\s+){0,2}?"
                r"(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|show|showing|notify|notifying|ask|asking|alert|alerting)"
                r"\b[^.\n]{0,40}\b(?:user|human|person|anyone|operator)\b"
            ),
        ),
        (
            "a tag that poses as an instruction",
            r"</?\s*(?:important|system|instructions?|secret|admin|assistant|hidden)\b[^>\n]{0,40}>",
        ),
        (
            "wants to be used before or instead of other tools",
            (
                r"\b(?:before (?:using|calling|running|invoking) (?:this|any|other|all)\b[^.\n]{0,30}\btools?\b"
                r"|always (?:use|call|run|invoke|prefer) this (?:tool|function)"
                r"|instead of (?:the |any )?(?:other|official|original|built-in)\b[^.\n]{0,30}\btools?\b)"
            ),
        ),
        (
            "addresses the model",
            r"\b(?:ai|llm|assistant|model|agent)s? (?:must|should|shall|has to|have to|needs? to)\b",
        ),
        (
            "names files that hold secrets",
            (
                r"(?<![\w.])\.(?:ssh|aws|env|netrc|npmrc|gnupg|kube)\b|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:passwd|shadow)\b"
                r"|\bmcp\.json\b|\b(?:private|secret|api) keys?\b[^.\n]{0,40}\b(?:send|include|pass|copy)\b"
            ),
        ),
        (
            "wants data sent somewhere",
            r"\b(?:send|post|upload|forward|exfiltrate|transmit|bcc)\b[^\n]{0,80}(?:https?://|\b[\w.+-]{1,40}@[\w-]{1,40}\.\w{2,10})",
        ),
        ("a long run that reads like encoded data", r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{120,}={0,2}(?![A-Za-z0-9+/=])"),
    )
)


def inspect_text(text: str) -> list[Finding]:
    found = [*_hidden(text), *_lookalikes(text)]
    for match in EMPTY_STRETCH.finditer(text):
        found.append(Finding("hidden", "a long empty stretch, behind which text can hide", match.start(), match.end()))
    for what, pattern in INSTRUCTIONS:
        found += [Finding("instruction", what, m.start(), m.end()) for m in pattern.finditer(text)]
    return sorted(found, key=lambda f: (f.start, -f.end))


def inspect_definition(fields: Mapping[str, Any]) -> list[Finding]:
    """Every text in a definition, keys of schemas too."""
    return [
        Finding(f.kind, f.what, f.start, f.end, path, excerpt(text, f.start, f.end))
        for path, text in texts(fields)
        for f in inspect_text(text)
    ]


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            below = f"{path}.{key}" if path else str(key)
            if path:
                yield f"{below} (name)", str(key)
            yield from texts(item, below)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from texts(item, f"{path}[{i}]")


def excerpt(text: str, start: int, end: int, around: int = 30) -> str:
    head, tail = max(0, start - around), min(len(text), min(end, start + 120) + around)
    cut = text[head:tail]
    return ("…" if head else "") + shown(cut) + ("…" if tail < len(text) else "")


def shown(text: str) -> str:
    """With hidden characters written as their numbers."""
    hidden = {i: text[i] for f in _hidden(text) for i in range(f.start, f.end)}
    return "".join(f"⟨U+{ord(c):04X}⟩" if i in hidden else c for i, c in enumerate(text))


def _hidden(text: str) -> Iterator[Finding]:
    """Neighbours that are hidden in the same way are one finding."""
    if text.isascii() and text.isprintable():
        return
    start, what = 0, ""
    for i in range(len(text) + 1):
        now = _why_hidden(text, i) if i < len(text) else ""
        if now != what:
            if what:
                yield Finding("hidden", what + _decoded(text[start:i]), start, i)
            start, what = i, now


def _why_hidden(text: str, i: int) -> str:
    number = ord(text[i])
    category = unicodedata.category(text[i])
    if number in BLANK_LETTERS:
        return BLANK_LETTERS[number]
    if any(number in block for block in SELECTORS):
        return "" if number == 0xFE0F and i and _is_symbol(text[i - 1]) else "variation selector"
    if number in TAGS:
        return "tag characters"
    if number in JOINERS and _joins(text, i):
        return ""
    if category == "Cf":
        return "direction control" if unicodedata.bidirectional(text[i]) in BIDI else "invisible character"
    if category == "Cc" and text[i] not in VISIBLE_CONTROLS:
        return "control character"
    return {"Co": "private use character", "Cs": "half of a character", "Cn": "unassigned character"}.get(category, "")


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "L", "R", "AL"}


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char) in {"So", "Sk", "Sm", "Po"} or char.isdigit()


def _joins(text: str, i: int) -> bool:
    """Joiners are at home inside emoji, and between letters of scripts that need them."""
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if not before or not after:
        return False
    emoji = _is_symbol(before) or ord(before) == 0xFE0F
    letters = all(not c.isascii() and unicodedata.category(c)[0] in "LM" for c in (before, after))
    return (emoji and _is_symbol(after)) or letters


def _decoded(run: str) -> str:
    text = "".join(chr(ord(c) - TAGS.start) for c in run if ord(c) in TAGS and 0x20 <= ord(c) - TAGS.start < 0x7F)
    return f" that spell {text!r}" if text else ""


WORD = re.compile(r"\w{2,}")
LOOKALIKE_SCRIPTS = ("CYRILLIC", "GREEK")


def _lookalikes(text: str) -> Iterator[Finding]:
    """Letters of two alphabets in one word: a Cyrillic `a` in `paypal` makes another word."""
    if text.isascii():
        return
    for match in WORD.finditer(text):
        word = match[0]
        if word.isascii() or not any(c.isascii() and c.isalpha() for c in word):
            continue
        foreign = {name for c in word for name in LOOKALIKE_SCRIPTS if unicodedata.name(c, "").startswith(name)}
        # A single Greek letter in a word is a unit or a formula: µm, Δt.
        if foreign == {"GREEK"} and sum(unicodedata.name(c, "").startswith("GREEK") for c in word) == 1:
            continue
        if foreign:
            alphabets = " and ".join(sorted({"Latin", *(name.title() for name in foreign)}))
            yield Finding("lookalike", f"a word with letters of two alphabets ({alphabets})", *match.span())
