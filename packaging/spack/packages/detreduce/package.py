from spack.package import *


class Detreduce(CMakePackage, CudaPackage):
    """Reductions whose bits can be relied on, on CPU and GPU. There is no address to download it from: name the
    sources with `spack develop --path`, or `spack install --source`."""

    license("MIT")
    version("0.2.0")

    variant("shared", default=False, description="A shared library")
    variant("program", default=False, description="The program detreduce, which measures and verifies")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cuda@12:", when="+cuda")
    with when("+program"):
        depends_on("boost")
        depends_on("cli11")
        depends_on("fmt")
        depends_on("libzip")
        depends_on("mpfr")
        depends_on("nlohmann-json")
        depends_on("gnuplot", type="run")

    def cmake_args(self):
        args = [
            self.define("DETREDUCE_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("DETREDUCE_BUILD_PROGRAM", "program"),
            self.define("DETREDUCE_BUILD_TESTS", False),
            self.define("DETREDUCE_MPI", "OFF"),
            self.define("DETREDUCE_NCCL", "OFF"),
        ]
        archs = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ("none",)
        if archs[0] != "none":
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(archs)))
        return args
