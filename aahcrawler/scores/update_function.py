"""Applies the update function to two scores (ARCOMEM, section 5.1), as the frontier does it."""


def updated(update: str, total: float, offers: int, score: float) -> tuple[float, int]:
    """Return the sum and the number of scores whose quotient a URL is queued with once it is offered with another one.

    >>> updated("max", 0.5, 1, 0.2), updated("avg", 0.5, 1, 0.3), updated("sum", 0.0, 0, 0.3)
    ((0.5, 1), (0.8, 2), (0.3, 1))
    """
    if not offers:
        return score, 1
    match update:
        case "last":
            return score, 1
        case "max":
            return max(total, score), 1
        case "sum":
            return total + score, 1
        case "avg":
            return total + score, offers + 1
        case _:
            return total, offers
