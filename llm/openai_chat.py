"""Chat models behind any OpenAI-compatible endpoint, with a strict JSON schema for the answer."""

import json
import threading
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from llm.errors import ModelFailed
from llm.limits import Limits
from llm.types import Answer, ChatOptions, Usage

ATTEMPTS = 2
LONGEST_WAIT = 10.0
"""Of what a service asks for in Retry-After; one that wants more is asked again with the next re-sync."""
REFUSED = {400, 401, 403, 404, 422}
"""The same request would be refused again."""


class OpenAIChat:
    def __init__(self, model: str, options: ChatOptions) -> None:
        import openai

        # Local endpoints want no key, and the SDK wants one.
        self._client = openai.OpenAI(
            base_url=options.base_url or None, api_key=options.api_key or "none", max_retries=0, timeout=options.timeout
        )
        self._model = model
        self._options = options
        self._limits = Limits(options.concurrency, options.per_minute)
        self._pause = threading.Event()
        self.name = model

    def complete_json(self, system: str, prompt: str, schema: dict[str, Any]) -> Answer:
        """Asks once more after a time-out, a full service or a broken answer, and then no more."""
        spent = Usage()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._limits.slot():
                    answer = self._ask(system, prompt, schema)
                return Answer(answer.data, spent + answer.usage)
            except _Attempt as failed:
                spent += failed.usage
                if attempt == ATTEMPTS or not failed.again:
                    raise ModelFailed(str(failed), spent) from failed.__cause__
                self._pause.wait(failed.wait)
        raise AssertionError("the loop returns or raises")

    def _ask(self, system: str, prompt: str, schema: dict[str, Any]) -> Answer:
        import openai

        try:
            completion = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": schema, "strict": True},
                },
                temperature=0,
                max_tokens=self._options.max_tokens,
                timeout=self._options.timeout,
            )
        except openai.APITimeoutError as exc:
            raise _Attempt(f"The language model did not answer within {self._options.timeout:g} s.") from exc
        except openai.RateLimitError as exc:
            wait = _retry_after(exc)
            raise _Attempt("The language model takes no more requests now (429).", wait, wait <= LONGEST_WAIT) from exc
        except openai.APIStatusError as exc:
            again = exc.status_code not in REFUSED
            raise _Attempt(f"The language model answered with status {exc.status_code}.", again=again) from exc
        except openai.OpenAIError as exc:
            raise _Attempt(f"The language model is not reachable: {type(exc).__name__}.") from exc
        except (AttributeError, TypeError, ValueError) as exc:
            raise _Attempt("The language model sent an answer of the wrong form.") from exc
        return _read(completion, schema)


class _Attempt(Exception):
    """One call that came to nothing."""

    def __init__(self, message: str, wait: float = 0.0, again: bool = True, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.wait = wait
        self.again = again
        self.usage = usage or Usage()


def _read(completion: Any, schema: dict[str, Any]) -> Answer:
    usage = _usage(completion)
    try:
        message = completion.choices[0].message
        refusal, content = getattr(message, "refusal", None), message.content
    except (AttributeError, IndexError, TypeError) as exc:
        raise _Attempt("The language model sent an answer of the wrong form.", usage=usage) from exc
    if refusal:
        raise _Attempt("The language model refused to answer.", usage=usage)
    try:
        data = json.loads(content)
    except (TypeError, ValueError, RecursionError) as exc:
        raise _Attempt("The language model sent no valid JSON.", usage=usage) from exc
    problem = next(iter(Draft202012Validator(schema).iter_errors(data)), None)
    if problem is not None or not isinstance(data, dict):
        where = ".".join(str(part) for part in problem.absolute_path) if problem else ""
        raise _Attempt(f"The language model's answer does not fit the schema at {where or 'the top'!r}.", usage=usage)
    return Answer(data, usage)


def _usage(completion: Any) -> Usage:
    """Not every endpoint counts."""
    found = getattr(completion, "usage", None)
    counts = [getattr(found, name, 0) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if isinstance(count, int) and count > 0 else 0 for count in counts))


def _retry_after(exc: Any) -> float:
    try:
        return max(0.0, float(exc.response.headers.get("retry-after", "1")))
    except ValueError:
        return 1.0


def from_model(model: str, options: ChatOptions) -> OpenAIChat:
    return OpenAIChat(model, options)
