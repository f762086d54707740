"""Which GPUs `make` compiles the kernels for: this machine's, or all. An nvcc and an nvidia-smi of
the tests and recorded device trees stand in; what is looked at is what that nvcc is told."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All that a build can be for, but sm_72, which the toolkit of the tests has no longer.
ALL = [75, 80, 86, 87, 89, 90, 100, 110, 120]
NVCC = """#!/bin/sh
case $1 in
--help) echo sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121 ;;
*) echo "$@" >"{record}" ;;
esac
"""
# `compatible` as Linux's own device trees have it, the most special name first.
ORIN_NANO = "nvidia,p3768-0000+p3767-0005", "nvidia,p3767-0005", "nvidia,tegra234"
XAVIER_NX = "nvidia,p3509-0000+p3668-0000", "nvidia,tegra194"
THOR = "nvidia,p3971-0089+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"
NANO = "nvidia,p3450-0000", "nvidia,tegra210"
RASPBERRY = "raspberrypi,4-model-b", "brcm,bcm2711"


class Machine:
    """One with the GPUs that it is given."""

    def __init__(self, folder):
        self.folder = folder
        self.record = folder / "told"
        self.program("nvcc", NVCC.format(record=self.record))
        self.says("")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def says(self, answer, status=0):
        """What nvidia-smi prints of the GPUs."""
        self.program("nvidia-smi", f"#!/bin/sh\nprintf '{answer}'\nexit {status}\n")

    def device_tree(self, compatible):
        (self.folder / "compatible").write_text("".join(name + "\0" for name in compatible))

    def build(self, *variables):
        """Builds one kernel; (what nvcc makes machine code for, what make says)."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NVCC", "SMS")}
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        image = self.folder / "kernels/gradient/gradient.fatbin"
        make = subprocess.run(
            ["make", f"BUILD={self.folder}", f"NVCC={self.folder}/nvcc",
             f"DEVICE_TREE={self.folder}", *variables, image],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert make.returncode == 0, make.stderr
        return [int(sm) for sm in re.findall(r"code=sm_(\d+)", self.record.read_text())], make.stdout


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize(("compatible", "sm"), [(ORIN_NANO, 87), (THOR, 110)])
def test_a_jetson_is_built_for_alone(machine, compatible, sm):
    machine.device_tree(compatible)
    machine.says("[N/A]\\n")
    built, said = machine.build()
    assert built == [sm]
    assert f"kernels for sm_{sm} alone" in said


@pytest.mark.parametrize(("answer", "sms"), [("9.0\\n", [90]), ("12.0\\n8.6\\n8.6\\n", [86, 120])])
def test_a_machine_with_gpus_is_built_for_them(machine, answer, sms):
    machine.says(answer)
    built, said = machine.build()
    assert built == sms
    assert f"kernels for {' '.join(f'sm_{sm}' for sm in sms)} alone" in said
    # PTX is there for GPUs that are newer than the newest of them.
    assert f"code=compute_{sms[-1]}" in machine.record.read_text()


@pytest.mark.parametrize(("answer", "status"), [
    ("", 9),                       # no driver is loaded
    ("[N/A]\\n", 0),
    ("Field \\042compute_cap\\042 is not a valid field to query.\\n", 2),  # before driver 510
    ("9.0\\n[Unknown Error]\\n", 0),
    ("12.1\\n", 0),                # nvcc knows it, and PTX is what we have for it
])
def test_a_machine_that_does_not_say_is_built_for_all(machine, answer, status):
    machine.says(answer, status)
    built, said = machine.build()
    assert built == ALL
    assert "alone" not in said


@pytest.mark.parametrize("compatible", [RASPBERRY, NANO, XAVIER_NX])
def test_a_board_that_nvcc_has_nothing_for_is_built_for_all(machine, compatible):
    machine.device_tree(compatible)
    assert machine.build()[0] == ALL


def test_sms_says_what_is_built(machine):
    machine.says("9.0\\n")
    assert machine.build("SMS=all")[0] == ALL
    assert machine.build("SMS=sm_87 sm_90")[0] == [87, 90]


def test_it_is_built_again_when_the_gpu_is_another(machine):
    machine.says("9.0\\n")
    assert machine.build()[0] == [90]
    machine.says("8.9\\n")
    assert machine.build()[0] == [89]
