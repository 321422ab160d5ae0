"""The MCP server: contracts as tools of an agent's own client. Needs the extra `mcp`."""
