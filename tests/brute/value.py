"""A figure that may be read in more than one way."""


class Choice:
    """value is our reading; also: equally right; other: {label: wrong reading worth naming}."""

    def __init__(self, value, also=(), other=None, tolerance=None):
        self.value, self.also, self.other = value, list(also), other or {}
        self.tolerance = tolerance


def plain(figure):
    """A figure as JSON can hold it: the value alone."""
    if isinstance(figure, Choice):
        return plain(figure.value)
    if isinstance(figure, dict):
        return {str(k): plain(v) for k, v in figure.items()}
    if isinstance(figure, (list, tuple)):
        return [plain(v) for v in figure]
    return figure
