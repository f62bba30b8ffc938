"""The broadcast advisor: a service that several programs on one platform share.

`state` is the directory through which it and the programs talk, `network` what it knows of one platform,
`samples` says which link a slow broadcast blames, `monitor` probes links that no program uses, and `service`
is the loop around them. What is decided is decided in the core (`crates/broadleaf/src/adapt/`).
"""

from broadleaf.advise.service import serve
from broadleaf.advise.state import State, StateError

__all__ = ["State", "StateError", "serve"]
