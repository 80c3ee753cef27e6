"""Program of the pane: `python -I -S supervisor.py [--settle] RUN_FOLDER`.

With `--settle` it settles a task whose supervisor was killed (tmux's pane-died hook runs that).
It holds no more than this, since a program is compiled anew at each start and modules are not.
"""

import os
import sys

# Last, so that nothing beside the package can stand before the standard library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from cuekit.launch.supervise import settle, supervise

if __name__ == "__main__":
    raise SystemExit(settle(sys.argv[2]) if sys.argv[1] == "--settle" else supervise(sys.argv[1]))
