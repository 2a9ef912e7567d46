"""MCP over Streamable HTTP (A1): the only place that imports the MCP client."""
