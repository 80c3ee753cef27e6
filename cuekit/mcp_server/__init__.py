"""`cuekit --mcp`: the services for agents that delegate, over MCP on standard input and output."""
