"""What is paid on day one to own accelerators, line by line; the lines sum to the purchase."""

from __future__ import annotations

from cabida.quantity import formula


@formula
def server_money(accelerators_money: float, server_capital_ratio: float) -> float:
    """The machines that hold the accelerators: what a whole server costs beyond the accelerators in it."""
    return accelerators_money * (server_capital_ratio - 1)


@formula
def desk_money(desktop_capital_money: float, machines_count: float) -> float:
    """The rest of each PC: processor, board, memory, supply, case, disk."""
    return desktop_capital_money * machines_count


@formula
def network_share_money(
    accelerators_money: float, machine_money: float, network_capital_ratio: float, install_share_ratio: float
) -> float:
    """Switches, cables and cards: network and installation over the server, less the installation."""
    return (accelerators_money + machine_money) * (network_capital_ratio - 1) * (1 - install_share_ratio)


@formula
def install_money(
    accelerators_money: float, machine_money: float, network_capital_ratio: float, install_share_ratio: float
) -> float:
    """Racking, cabling, power and acceptance."""
    return (accelerators_money + machine_money) * (network_capital_ratio - 1) * install_share_ratio


@formula
def disks_money(accelerators_money: float, machine_money: float, storage_capital_ratio: float) -> float:
    """Storage beyond the machine's own disks, as a share of the machine."""
    return (accelerators_money + machine_money) * storage_capital_ratio


@formula
def duty_money(accelerators_money: float, machine_money: float, duty_ratio: float) -> float:
    """Import duty on what crosses the border."""
    return (accelerators_money + machine_money) * duty_ratio


@formula
def purchase_tax_money(untaxed_money: float, purchase_tax_ratio: float) -> float:
    """Value-added or sales tax on the purchase that is not recovered. Worked example E25."""
    return untaxed_money * purchase_tax_ratio


@formula
def untaxed_money(
    accelerators_money: float,
    machine_money: float,
    network_money: float,
    storage_money: float,
    install_money: float,
    duty_money: float,
) -> float:
    """The purchase before tax."""
    return accelerators_money + machine_money + network_money + storage_money + install_money + duty_money


@formula
def purchase_money(untaxed_money: float, purchase_tax_money: float) -> float:
    """All that is paid on day one."""
    return untaxed_money + purchase_tax_money
