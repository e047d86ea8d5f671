"""`toolscript mcp`: the MCP endpoint over standard input and output, for clients that start their servers."""

import click

from cli.errors import failure_of

EPILOG = """\b
Examples:
  {"mcpServers": {"toolscript": {"command": "toolscript", "args": ["mcp"]}}}
                                             for a client that reads `mcpServers`
  TOOLSCRIPT_API_KEY=tsk_… toolscript mcp    with what a tenant sees
"""


@click.command(epilog=EPILOG)
def mcp() -> None:
    """Serve MCP over standard input and output.

    Works on the database itself, so no service has to run. Without TOOLSCRIPT_API_KEY it acts for whoever has the
    data folder. Ends when its input does.
    """
    from cli.identity import identify
    from cli.service import prepare_database
    from core.errors import ToolscriptError

    prepare_database()
    try:
        identify()  # a key that opens nothing is said before the client waits
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    import anyio

    from mcp_endpoint.stdio import serve

    anyio.run(serve, identify)
