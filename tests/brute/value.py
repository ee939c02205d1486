"""A figure whose definition allows more than one interpretation."""


class Choice:
    """value is the figure by our interpretation, and also has values that are equally right. other is
    {label: value} of interpretations that are wrong but worth naming."""

    def __init__(self, value, also=(), other=None, tolerance=None):
        self.value, self.also, self.other = value, list(also), other or {}
        self.tolerance = tolerance


def plain(figure):
    """A figure's plain value, for JSON."""
    if isinstance(figure, Choice):
        return plain(figure.value)
    if isinstance(figure, dict):
        return {str(k): plain(v) for k, v in figure.items()}
    if isinstance(figure, (list, tuple)):
        return [plain(v) for v in figure]
    return figure
