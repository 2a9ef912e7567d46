"""REST base classes: strict parser, renderer, problem details, keyset pagination."""
