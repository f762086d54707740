import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EDGECTL = ROOT / os.environ.get("EDGED_BUILD", "build") / "edgectl"
LIBRARY = EDGECTL.parent / "libedged.a"
PROCESS_MANY = EDGECTL.parent / "tests/golden/process_many"
FLIP_RAW = EDGECTL.parent / "tests/golden/flip_raw"
DEMOSAIC_RAW = EDGECTL.parent / "tests/golden/demosaic_raw"
WRITE_MP4 = EDGECTL.parent / "tests/golden/write_mp4"
PRIVACY_RAW = EDGECTL.parent / "tests/golden/privacy_raw"
