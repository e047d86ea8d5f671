"""Ways to reach an MCP server. Each is a file with one function `streams`; this line makes it known."""

TRANSPORTS: dict[str, str] = {
    "stdio": "tools_catalog.transports.stdio:streams",
    "http": "tools_catalog.transports.http:streams",
    "sse": "tools_catalog.transports.sse:streams",
}
