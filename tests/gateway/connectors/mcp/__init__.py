"""The MCP connector against real servers, well-behaved and hostile."""
