# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""mcp_client_test.py LACUNA: `lacuna mcp` with the client of the package mcp, in every way that it opens a connection. Exits with 77 where
the package is not installed."""

import asyncio
import importlib.metadata
import os
import subprocess
import sys
import tempfile

sys.path.pop(0)  # the folder mcp beside this file is another thing
try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError as missing:
    print(f"skipped: the package mcp is not here ({missing}); pip install mcp")
    sys.exit(77)
try:
    from mcp import Client
except ImportError:  # before version 2
    Client = None

LACUNA = os.path.abspath(sys.argv[1])
SERVER = StdioServerParameters(command=LACUNA, args=["mcp"])


async def use(client, trace):
    """Each tool once, with the checks that the client makes of every answer."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["report", "findings", "whatif", "diff", "query", "schema"], names
    calls = (("report", {"file": trace}), ("findings", {"file": trace}), ("whatif", {"file": trace, "changes": ["sync=off"]}),
             ("diff", {"before": trace, "after": trace}), ("query", {"file": trace, "sql": "SELECT count(*) FROM kernel"}), ("schema", {}))
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        failed = result.is_error if hasattr(result, "is_error") else result.isError
        assert not failed and result.content[0].text, (name, result)
    result = await client.call_tool("report", {"file": "no-such.lcn"})
    assert (result.is_error if hasattr(result, "is_error") else result.isError) and "cannot be opened" in result.content[0].text, result


async def with_session(trace):
    async with stdio_client(SERVER) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        await session.send_ping()
        await use(session, trace)


async def with_client(mode, trace):
    async with Client(stdio_client(SERVER), mode=mode) as client:
        await use(client, trace)
        return client.protocol_version


async def main(trace):
    await with_session(trace)
    if Client is not None:
        agreed = {mode: await with_client(mode, trace) for mode in ("auto", "legacy", "2026-07-28")}
        assert agreed == {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}, agreed
    print("passed, with mcp", importlib.metadata.version("mcp"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "run.lcn")
        subprocess.run([LACUNA, "generate", "-o", made, "--steps", "40", "--layers", "4"], check=True, capture_output=True, timeout=100)
        asyncio.run(asyncio.wait_for(main(made), 100))
