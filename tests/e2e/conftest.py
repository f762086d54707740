from fixtures import board, edged, provoke, watch  # noqa: F401
