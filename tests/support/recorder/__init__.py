"""Records what real agents say, and what we make of it, into tests/fixtures.

    python -m tests.support.recorder AGENT [--version V] [--only NAME] [--check] [--decode]

Each agent brings a module `scenarios_<agent>.py` here; see `plug.py` for what it holds.
"""
