"""What the numbers were measured with: processor and versions, no host name."""

import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("lacunet", "torch", "numpy", "scikit-learn")


def describe_machine() -> dict[str, str]:
    """Return versions and the name of the processor's model."""
    versions = {name: version(name) for name in PACKAGES}
    return {
        **versions,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": processor_model(),
    }


def processor_model() -> str:
    """Return the processor's brand, as far as the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
