"""How callers say who they are, for the OpenAPI description."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class CallerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "tenants.authentication.CallerAuthentication"
    name = ["bearer", "apiKey"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        view, method = auto_schema.view, auto_schema.method
        known: list[dict[str, list[str]]] = [{"bearer": []}, {"apiKey": []}]
        reads = method in {"GET", "HEAD"} or getattr(view, "only_reads", False)
        return [*known, {}] if reads else known

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "A JSON web token, or an API key."},
            {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
        ]
