"""Spack package. Parsed by the tests, never built, for lack of Spack and of a public archive of sources.

Put this folder's parent into a repository of packages (`spack repo add`), and name the sources with
`spack dev-build broadleaf@0.1.0`. Where the build has no network, run `cargo vendor vendor` in the sources
before; the build then uses those crates.
"""

from os import path

from spack.package import *

# As `cargo vendor` prints it.
VENDORED = """[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"

[net]
offline = true
"""


class Broadleaf(PythonPackage):
    """Planned broadcasts of large messages on heterogeneous networks, under unmodified MPI programs."""

    license("Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-click@8.2:", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", type=("build", "run"))
    depends_on("py-networkx@3.2:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("mpi")

    def setup_build_environment(self, env):
        # One runtime, for the site's MPI and for all others of its kind.
        env.set("BROADLEAF_MPICC", self.spec["mpi"].mpicc)

    @run_before("install")
    def use_vendored_crates(self):
        with working_dir(self.stage.source_path):
            if path.isdir("vendor"):
                mkdirp(".cargo")
                with open(join_path(".cargo", "config.toml"), "w") as config:
                    config.write(VENDORED)
