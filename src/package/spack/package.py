# For Spack.  UNTRIED: nobody has built it yet; libcsv has to be packaged where the
# repository lacks it.  Put it in a repository of yours as packages/nsys-explain/package.py,
# set `git` to where your clone is, then: spack install nsys-explain
from spack.package import *


class NsysExplain(MakefilePackage):
    """Explains NVIDIA Nsight Systems captures."""

    git = "file:///path/to/nsys-explain"
    license("MIT")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("gawk", type="build")
    for library in ("sqlite", "jansson", "libcsv", "libdeflate", "zstd", "lz4"):
        depends_on(library)

    def build(self, spec, prefix):
        make("MPICC=", "all")

    def install(self, spec, prefix):
        make("MPICC=", f"PREFIX={prefix}", "install-program")
