"""Tools that live elsewhere: MCP servers and HTTP APIs, with overlays, pins and the connections behind them."""
