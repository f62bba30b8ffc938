"""The broadcast advisor: a service that several programs on one platform share.

`state` is the directory through which it and the programs communicate, `network` its data on one platform,
`samples` finds the link that made a broadcast slow, `monitor` probes links that no program uses, and
`service` is the loop around them. All decisions are the core's (`crates/broadleaf/src/adapt/`)."""

from broadleaf.advise.service import serve
from broadleaf.advise.state import State, StateError

__all__ = ["State", "StateError", "serve"]
