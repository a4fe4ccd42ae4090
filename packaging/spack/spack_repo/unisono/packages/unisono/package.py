from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Unisono(CMakePackage):
    """Collective I/O for MPI programs, without changing them: `unisono run -- mpiexec ...` does the
    collective MPI_File calls of a program instead of its MPI library."""

    homepage = "https://example.org/unisono"  # no public address yet
    # Without one, `spack dev-build` or `spack develop --path` builds a clone.

    license("BSD-3-Clause")

    version("0.1.0")

    variant("pocket", default=False, description="Emulate a parallel file system behind FUSE")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("xxhash", type="build")  # its header
    depends_on("liburing")
    depends_on("gnutls@3.6.5:")
    depends_on("mpi")
    depends_on("libfuse@3.12:", when="+pocket")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-click@8.1:", type="run")
    depends_on("py-rich@13:", type="run")
    depends_on("py-jinja2@3.1:", type="run")

    requires("^[virtuals=mpi] mpich", "^[virtuals=mpi] openmpi", policy="one_of",
             msg="engines are for the MPICH and the Open MPI family")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    @property
    def install_targets(self):
        return ["install/strip"]

    def cmake_args(self):
        # Spack's Python finds click and rich by PYTHONPATH, so it is not started isolated.
        return [self.define("UNISONO_TESTS", False), self.define("CMAKE_UNITY_BUILD", True),
                self.define("UNISONO_PYTHON", self.spec["python"].command.path)]

    def setup_run_environment(self, env):
        env.set("UNISONO_ROOT", self.prefix)

    def test_command(self):
        """its libraries and their table fit together"""
        which(self.prefix.bin.unisono)("strategies")
