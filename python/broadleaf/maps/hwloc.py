"""Groups hosts of equal hardware, from the XML that hwloc's `lstopo` writes on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from broadleaf.maps.hostlist import HostlistError

# Operating-system devices of networks: Ethernet and the like, and verbs.
NETWORKS = ("2", "3")
# hwloc 1 calls a package a socket.
PACKAGES = ("Package", "Socket")


def of_hwloc(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The hosts by processor, cores and network adapters; a file may have several machines. By file's name.

    Raises HostlistError, naming the file."""
    hosts: dict[str, list[str]] = {}
    for file, text in texts.items():
        try:
            machines = list(ElementTree.fromstring(text).iter("object"))
        except (ElementTree.ParseError, RecursionError) as error:
            raise HostlistError(f"{file}: no XML that can be read ({error})") from None
        machines = [each for each in machines if each.get("type") == "Machine"]
        if not machines:
            raise HostlistError(f"{file}: no machine; write the file by `lstopo --of xml`")
        for machine in machines:
            name = info(machine, "HostName")
            if name is None:
                raise HostlistError(f"{file}: no HostName; write the file by `lstopo --of xml` on the host")
            hosts.setdefault(hardware(machine), []).append(name)
    return hosts


def hardware(machine: ElementTree.Element) -> str:
    """What hosts of one group have in common, in words."""
    objects = list(machine.iter("object"))
    packages = [each for each in objects if each.get("type") in PACKAGES]
    models = sorted({model for each in packages if (model := info(each, "CPUModel"))})
    cores = sum(each.get("type") == "Core" for each in objects)
    words = [" and ".join(models) or "unnamed processor", f"{len(packages)} packages", f"{cores} cores"]
    adapters = sorted(
        f"{device.get('pci_type', '').split()[1]} at {device.get('pci_link_speed', '0')} GB/s"
        for device in objects
        if device.get("type") == "PCIDev"
        and len(device.get("pci_type", "").split()) > 1
        and any(each.get("osdev_type") in NETWORKS for each in device.iter("object"))
    )
    return ", ".join([*words, *adapters])


def info(of: ElementTree.Element, name: str) -> str | None:
    """An object's own information of that name."""
    return next((each.get("value") for each in of.findall("info") if each.get("name") == name), None)
