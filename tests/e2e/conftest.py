from fixtures import board, edged, elements, provoke, pytest_configure, watch  # noqa: F401
