from fixtures import board, edged, provoke, pytest_configure, watch  # noqa: F401
