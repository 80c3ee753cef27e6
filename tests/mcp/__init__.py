"""The MCP server, with the clients of others."""
