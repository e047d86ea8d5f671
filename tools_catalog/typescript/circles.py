"""Which places of a graph lead back to each other: its strongly connected parts, found in one walk (Gabow's)."""

from collections.abc import Callable, Iterator


class Circles:
    def __init__(self, edges: Callable[[str], list[str]]) -> None:
        self._edges = edges
        self._circle: dict[str, str] = {}
        """Each place walked through, and the one that stands for all that lead back to each other."""

    def same(self, one: str, other: str) -> bool:
        return self._of(one) == self._of(other)

    def _of(self, place: str) -> str:
        if place not in self._circle:
            self._walk(place)
        return self._circle[place]

    def _walk(self, start: str) -> None:
        order: dict[str, int] = {}
        way: list[tuple[str, Iterator[str]]] = []
        undecided: list[str] = []
        bounds: list[int] = []  # where each circle, as far as it is known, begins

        def enter(place: str) -> None:
            order[place] = len(order)
            bounds.append(order[place])
            undecided.append(place)
            way.append((place, iter(self._edges(place))))

        enter(start)
        while way:
            place, rest = way[-1]
            step = next(rest, None)
            if step is None:
                way.pop()
                if bounds[-1] == order[place]:
                    bounds.pop()
                    while place not in self._circle:
                        self._circle[undecided.pop()] = place
            elif step not in order and step not in self._circle:
                enter(step)
            elif step not in self._circle:
                while bounds[-1] > order[step]:
                    bounds.pop()
