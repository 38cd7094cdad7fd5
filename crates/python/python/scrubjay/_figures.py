"""Figures as SVG, as notebooks show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Figure", "Figures"]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes
    ----------
    name : str
        A stem for its file: lower case, digits and ``-``.
    title, caption : str
        What it shows, and what it says.
    svg : str
        The picture.
    """

    name: str
    title: str
    caption: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.caption}>"


class Figures(Sequence):
    """Figures in the order in which they are read: by number, or by name. A notebook shows all of them."""

    def __init__(self, figures):
        self._figures = tuple(figures)

    def __getitem__(self, which):
        if isinstance(which, str):
            for figure in self._figures:
                if figure.name == which:
                    return figure
            raise KeyError(f"no figure `{which}`; there are {', '.join(self.names)}")
        return self._figures[which]

    def __len__(self) -> int:
        return len(self._figures)

    @property
    def names(self) -> list:
        """The names of all figures."""
        return [figure.name for figure in self._figures]

    def _repr_html_(self) -> str:
        return "\n".join(
            f"<figure><h3>{escape(figure.title)}</h3>{figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>"
            for figure in self._figures
        )

    def __repr__(self) -> str:
        return f"<Figures: {', '.join(self.names)}>"
