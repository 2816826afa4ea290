"""A systemd unit for one machine: the maker's container, restarted when it fails (systemd.service(5))."""

from __future__ import annotations

import math
import re

from cabida.errors import InvalidInput
from cabida.launch.compose import docker_words, notes_of, one_replica
from cabida.launch.start import START_FACTOR, Start
from cabida.launch.yamls import comments
from cabida.text import problem


def systemd(start: Start) -> str:
    """A unit that runs one replica.

    Raises:
        InvalidInput: a replica takes several machines (CB-L004), or no image is published for it (CB-L005).
    """
    if start.nodes_count > 1:
        raise InvalidInput([problem("CB-L004", form="systemd", nodes=start.nodes_count)])
    if not start.image:
        raise InvalidInput([problem("CB-L005", engine=start.engine, vendor=start.vendor)])
    run = " ".join(word_of(word) for word in docker_words(start))
    return (
        comments((*notes_of(start), *one_replica(start)))
        + f"""\
[Unit]
Description={start.name}
Wants=network-online.target
After=network-online.target docker.service
Requires=docker.service

[Service]
EnvironmentFile=-/etc/{start.name}.env
ExecStartPre=-/usr/bin/docker rm --force {start.name}
ExecStart=/usr/bin/{run}
ExecStop=/usr/bin/docker stop --time 120 {start.name}
TimeoutStartSec={math.ceil(START_FACTOR * start.starts_s)}
TimeoutStopSec=150
Restart=on-failure
RestartSec=10

[Install]
WantedBy=multi-user.target
"""
    )


def word_of(word: str) -> str:
    """One word of ``ExecStart``: quoted as C does, specifiers and variables doubled."""
    plain = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./$-]+", plain):
        return plain
    escaped = "".join(
        f"\\x{ord(one):02x}" if one < " " else f"\\{one}" if one in '\\"' else one for one in plain
    )
    return f'"{escaped}"'
