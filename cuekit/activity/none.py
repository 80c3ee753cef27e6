"""An agent of which nothing is known: no signal is read into it, and text goes in as it is."""

from collections.abc import Mapping
from typing import Any

from cuekit.activity.base import Screen, SteerPlan
from cuekit.model.activity import Signal


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """Nothing."""
    return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """Nothing."""
    return []


def title_signal(title: str, at: float) -> Signal | None:
    """Nothing."""
    return None


def read_screen(plain: str, styled: str) -> Screen:
    """Nothing is recognised."""
    return Screen()


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One paste, then Enter."""
    return SteerPlan(pieces=(text,))
