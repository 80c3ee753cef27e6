"""Which pane a sidecar has."""

from collections.abc import Mapping

from cuekit.launch.sidecar_plan import SidecarPlan
from cuekit.sidecar.pane import Pane, PlainPane


def open_pane(environ: Mapping[str, str], plan: SidecarPlan) -> Pane:
    """The pane for this terminal."""
    return PlainPane()
