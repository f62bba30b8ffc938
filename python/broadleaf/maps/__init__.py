"""Maps of a cluster that a site has anyway: which hosts are on which switch.

Slurm's topology.conf and topology.yaml, the listing of ibnetdiscover, and hwloc's XML of the hosts, of which
equal ones count as on one switch. A map has no rates: `representatives` chooses the few hosts to measure, and
`expanded` gives the others what was measured.
"""

from broadleaf.maps.hostlist import HostlistError, hostlist
from broadleaf.maps.read import Map, MapError, read_map
from broadleaf.maps.representatives import expanded, map_of, representatives

__all__ = [
    "HostlistError",
    "Map",
    "MapError",
    "expanded",
    "hostlist",
    "map_of",
    "read_map",
    "representatives",
]
