"""`python -m demo_server --folder DIR`: an MCP server over stdio whose tools work without a network."""

import argparse
from pathlib import Path

from demo_server.server import build


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m demo_server", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where notes, to-dos, calendar and files are kept")
    build(parser.parse_args().folder).run("stdio")


if __name__ == "__main__":
    main()
