"""Builds the wheel: the Python package of this folder and libnsx, which make builds.

This is a build backend of our own because it needs only Python and make, so that
`pip install ./python` works without a package index. NSX_BUILD names the build folder;
the default is build/ in the source.
"""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)


def _version():
    with open(os.path.join(SOURCE, "Makefile"), encoding="utf-8") as f:
        return re.search(r"^VERSION := (\S+)", f.read(), re.M)[1]


def build_wheel(folder, config_settings=None, metadata_directory=None):
    build = os.path.abspath(os.environ.get("NSX_BUILD", os.path.join(SOURCE, "build")))
    subprocess.check_call(["make", "-s", "-C", SOURCE, f"-j{os.cpu_count()}",
                           f"B={build}", f"{build}/libnsx.so.0"])
    version = _version()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    info = f"nsys_explain-{version}.dist-info"
    files = {
        "nsx/__init__.py": open(os.path.join(HERE, "nsx", "__init__.py"), "rb").read(),
        "nsx/libnsx.so.0": open(os.path.join(build, "libnsx.so.0"), "rb").read(),
        f"{info}/METADATA": (f"Metadata-Version: 2.1\nName: nsys-explain\nVersion: {version}\n"
                             "Summary: explains traces of NVIDIA Nsight Systems\n"
                             "License: MIT\nRequires-Python: >=3.8\n").encode(),
        f"{info}/WHEEL": ("Wheel-Version: 1.0\nGenerator: nsys-explain\n"
                          f"Root-Is-Purelib: false\nTag: {tag}\n").encode(),
    }
    record = f"{info}/RECORD"
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()
    wheel = f"nsys_explain-{version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(name, content)
    return wheel
