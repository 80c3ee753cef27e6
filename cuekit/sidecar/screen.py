"""Which pane a sidecar has."""

import sys
from collections.abc import Mapping

from cuekit.launch.sidecar_plan import SidecarPlan
from cuekit.sidecar.pane import Pane, PlainPane


def open_pane(environ: Mapping[str, str], plan: SidecarPlan) -> Pane:
    """The pane for this terminal, or for none."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return PlainPane()
    from cuekit.sidecar.terminal import TerminalPane

    return TerminalPane(environ, plan.agent_kind)
