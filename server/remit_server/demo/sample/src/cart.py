"""A shopping cart."""

from dataclasses import dataclass

DIGITS = 2


@dataclass
class Line:
    name: str
    price: float
    count: int


def checkout(lines: list[Line], discount: float = 0.0) -> float:
    total = 0.0
    for line in lines:
        total += line.price * line.count
    if discount:
        total -= total * discount
    return round(total, DIGITS)
