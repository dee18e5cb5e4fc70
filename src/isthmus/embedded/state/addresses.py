"""Gives Services their cluster IPs and node ports, and takes back what is no longer used."""

import ipaddress
import random
from collections.abc import Iterable, Iterator
from itertools import chain

from isthmus.embedded.kinds import causes
from isthmus.embedded.kinds.refusals import invalid
from isthmus.embedded.state.store import Event, Key, Record
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.wire import JsonObject

SERVICES = "/services"
NODE_PORTS = range(30000, 32768)
_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


class Addresses:
    """What is in use follows from the stored Services, so that nothing can leak."""

    def __init__(self, service_range: str, chance: random.Random) -> None:
        self.network = ipaddress.IPv4Network(service_range)
        self._chance = chance
        self._ips: dict[str, Key] = {}
        self._ports: dict[int, Key] = {}
        # Like the real allocator, leave the lower end to those who ask for a certain address.
        size = self.network.num_addresses
        self._reserved = min(max(16, size // 16), 256) if size > 32 else 0

    def reset(self, records: Iterable[Record]) -> None:
        self._ips, self._ports = {}, {}
        for record in records:
            if record.key.resource == SERVICES:
                self._take(record)

    def note(self, event: Event) -> None:
        if event.key.resource != SERVICES:
            return
        if event.before is not None:
            for ip in _ips(event.before.object):
                self._ips.pop(ip, None)
            for port in _node_ports(event.before.object):
                self._ports.pop(port, None)
        if event.after is not None:
            self._take(event.after)

    def _take(self, record: Record) -> None:
        for ip in _ips(record.object):
            self._ips[ip] = record.key
        for port in _node_ports(record.object):
            self._ports[port] = record.key

    def assigned(
        self, key: Key, new: JsonObject, old: JsonObject | None, *, dry_run: bool
    ) -> JsonObject:
        """``new`` with its cluster IP and node ports; raises the Refusal 422 if one is taken."""
        spec = {**new["spec"]}
        before = old["spec"] if old is not None else {}
        name = new["metadata"]["name"]
        if spec.get("type") != "ExternalName":
            self._assign_ip(name, spec, before, dry_run=dry_run)
        if spec.get("type") in _WITH_NODE_PORTS:
            spec["ports"] = self._with_node_ports(key, name, spec, before)
        elif before.get("type") in _WITH_NODE_PORTS:
            spec["ports"] = [_released(port, before) for port in spec.get("ports") or []]
        return {**new, "spec": spec}

    def _assign_ip(self, name: str, spec: JsonObject, before: JsonObject, *, dry_run: bool) -> None:
        held = before.get("clusterIP", "") if before.get("type") != "ExternalName" else ""
        wanted = spec.get("clusterIP") or held
        if not wanted:
            # Who only tries is told of no address that somebody could get.
            wanted = str(self.network[0]) if dry_run else self._free_ip(name)
        elif wanted != "None" and not held:  # Judging the object refuses to change an address.
            self._check_ip(name, wanted, dry_run=dry_run)
        spec["clusterIP"] = wanted
        if not spec.get("clusterIPs"):
            spec["clusterIPs"] = [wanted]

    def _check_ip(self, name: str, wanted: str, *, dry_run: bool) -> None:
        try:
            address = ipaddress.ip_address(wanted)
        except ValueError:
            return  # Judging the object reports it better.
        ends = (self.network.network_address, self.network.broadcast_address)
        if address not in self.network or address in ends:
            why = "the provided network does not match the current range"
            if dry_run:  # the words of another part of the real server
                why = f"the provided IP ({wanted}) is not in the valid range. "
                why += f"The range of valid IPs is {self.network}"
        elif wanted in self._ips and not dry_run:  # The real server does not try, then.
            why = "provided IP is already allocated"
        else:
            return
        detail = f"failed to allocate IP {wanted}: {why}"
        raise _wrong(name, causes.invalid("spec.clusterIPs", [wanted], detail))

    def _free_ip(self, name: str) -> str:
        size = self.network.num_addresses - 2  # neither the network's address nor broadcast
        first = self._chance.randrange(self._reserved, size)
        for offset in chain(range(first, size), range(first)):
            ip = str(self.network[offset + 1])
            if ip not in self._ips:
                return ip
        raise Refusal(
            500,
            "InternalError",
            "Internal error occurred: failed to allocate a serviceIP: range is full",
            name=name,
        )

    def _with_node_ports(
        self, key: Key, name: str, spec: JsonObject, before: JsonObject
    ) -> list[JsonObject]:
        allocate = spec.get("allocateLoadBalancerNodePorts", True) is not False
        held = {_port_key(port): port["nodePort"] for port in _ported(before)}
        chosen = {port["nodePort"] for port in _ported(spec)}
        done: list[JsonObject] = []
        for index, port in enumerate(spec.get("ports") or []):
            number = port.get("nodePort") or held.get(_port_key(port), 0)
            if number and port.get("nodePort"):
                self._check_port(key, name, index, number)
            elif not number and (allocate or spec["type"] == "NodePort"):
                number = self._free_port(chosen)
            chosen.add(number)
            done.append({**port, "nodePort": number} if number else port)
        return done

    def _check_port(self, key: Key, name: str, index: int, number: int) -> None:
        if number not in NODE_PORTS:
            span = f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            why = f"provided port is not in the valid range. The range of valid ports is {span}"
        elif self._ports.get(number, key) != key:
            why = "provided port is already allocated"
        else:
            return
        raise _wrong(name, causes.invalid(f"spec.ports[{index}].nodePort", number, why))

    def _free_port(self, chosen: set[int]) -> int:
        first = self._chance.randrange(NODE_PORTS.start, NODE_PORTS.stop)
        for number in chain(range(first, NODE_PORTS.stop), range(NODE_PORTS.start, first)):
            if number not in self._ports and number not in chosen:
                return number
        why = "failed to allocate a nodePort: range is full"
        raise Refusal(500, "InternalError", f"Internal error occurred: {why}")


def _wrong(name: str, cause: Cause) -> Refusal:
    return invalid("", "Service", name, (cause,))


def _ips(service: JsonObject) -> Iterator[str]:
    spec = service["spec"]
    if spec.get("type") != "ExternalName":
        yield from (ip for ip in spec.get("clusterIPs") or () if ip and ip != "None")


def _node_ports(service: JsonObject) -> Iterator[int]:
    return (port["nodePort"] for port in _ported(service["spec"]))


def _ported(spec: JsonObject) -> Iterator[JsonObject]:
    return (port for port in spec.get("ports") or () if port.get("nodePort"))


def _port_key(port: JsonObject) -> tuple[str, int]:
    return port.get("protocol", "TCP"), port["port"]


def _released(port: JsonObject, before: JsonObject) -> JsonObject:
    """A port without the node port that the server had given it."""
    held = {one["nodePort"] for one in _ported(before)}
    return {k: v for k, v in port.items() if k != "nodePort" or v not in held}
