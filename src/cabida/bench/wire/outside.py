"""Which addresses lie outside: what anybody on the internet could ask, and what no server should ever ask."""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
METADATA = (  # of the clouds: whoever reads them has the machine's own rights
    ipaddress.ip_network("169.254.169.254/32"),
    ipaddress.ip_network("169.254.170.2/32"),
    ipaddress.ip_network("100.100.100.200/32"),
    ipaddress.ip_network("192.0.0.192/32"),
    ipaddress.ip_network("fd00:ec2::/32"),
)
SHARED = ipaddress.ip_network("100.64.0.0/10")  # of carriers: neither private nor global for Python
TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
HIDING = (
    *TRANSLATED,
    ipaddress.ip_network("2002::/16"),
    ipaddress.ip_network("2001::/32"),
)  # an IPv4 address in each


def plain_address(text: str) -> Address:
    """The address written in ``text``; of an IPv6 address that stands for an IPv4 one, that. A zone is left out.

    Standing for one are ::ffff:a.b.c.d, the old ::a.b.c.d, 6to4 (RFC 3056) and NAT64 (RFC 6052, RFC 8215, both with the
    IPv4 address last).
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if int(address) < 2**32 and int(address) > 1:  # ::a.b.c.d, of old
            return ipaddress.IPv4Address(int(address))
        if address.sixtofour is not None:
            return address.sixtofour
        if any(address in network for network in TRANSLATED):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_metadata(address: Address) -> bool:
    """Whether a cloud answers there with the rights of the machine."""
    return any(address in network for network in METADATA if network.version == address.version)


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could ask it."""
    if address.version == 4 and address in SHARED:
        return False
    if address.version == 6 and any(address in network for network in HIDING):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified or address.is_loopback
    )


def may_be_asked(text: str, *, inside: bool) -> bool:
    """Whether a server may ask an address: public ones, private ones if ``inside``, never metadata or multicast."""
    written, address = ipaddress.ip_address(text.partition("%")[0]), plain_address(text)
    hides = written.version == 6 and any(written in network for network in HIDING)
    never = is_metadata(address) or address.is_multicast or written.is_multicast
    return not never and (inside or (is_public(address) and not hides))
