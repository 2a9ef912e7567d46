"""Views of the registry's REST, one module per noun."""
