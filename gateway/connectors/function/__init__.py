"""Functions: registered Python callables in a child process of their own (A5)."""
