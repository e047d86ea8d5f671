"""The ways to search. REST, the command and the MCP endpoint all join here."""

from search.query_vectors import embed
from search.services.gateway import gateway_search
from search.services.searching import readiness, search_skills, search_tools, search_tools_in, warm_up

__all__ = ["embed", "gateway_search", "readiness", "search_skills", "search_tools", "search_tools_in", "warm_up"]
