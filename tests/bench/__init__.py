"""Benchmarks: `make bench` measures, `build/bench.json` and `docs/benchmarks.md` tell."""
