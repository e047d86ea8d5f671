"""Finds the classifier of a name. One file each, loaded on first use."""

from importlib import import_module

from django.conf import settings

from skills.classifiers.types import Classifier

CLASSIFIERS = {
    "llm": "skills.classifiers.llm:from_settings",
    "nearest": "skills.classifiers.nearest:from_settings",
}


def classifier_name() -> str:
    """As set; `auto` takes the language model where one is configured."""
    wanted = str(settings.CLASSIFIER)
    if wanted != "auto":
        return wanted
    return "llm" if settings.CHAT_MODEL else "nearest"


def classifier() -> Classifier:
    module, _, factory = CLASSIFIERS[classifier_name()].partition(":")
    found: Classifier = getattr(import_module(module), factory)()
    return found
