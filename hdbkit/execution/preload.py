"""What the clients' forkserver does before its first fork: tie its life to the supervisor's, and freeze its objects.

The clients' parent is the forkserver, which would outlive a killed supervisor and keep its pipes open. So it asks
the kernel to be killed with the supervisor, and each client to be killed with it. What the garbage collector never
looks at, it never writes to: frozen, the forkserver's memory stays shared by all clients.
"""

from __future__ import annotations

import gc
import os

from hdbkit.processes import die_with_parent

PARENT_VARIABLE = "HDBKIT_SUPERVISOR_PID"

FORKSERVER_PID = os.getpid()

if os.environ.get(PARENT_VARIABLE) == str(os.getppid()):
    die_with_parent(os.getppid())
    os.register_at_fork(before=gc.freeze)
