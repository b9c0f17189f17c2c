import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Detreduce(ConanFile):
    name = "detreduce"
    description = "Reductions whose bits can be relied on, on CPU and GPU"
    license = "MIT"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "cuda": [True, False]}
    default_options = {"shared": False, "cuda": False}

    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._sources(), "CMakeLists.txt"))
        self.version = re.search(r"project\(detreduce VERSION ([0-9.]+)", text).group(1)
        self.homepage = re.search(r'HOMEPAGE_URL "([^"]*)"', text).group(1) or None

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "lib/*", "kernels/*"):
            copy(self, pattern, self._sources(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["DETREDUCE_CUDA"] = "ON" if self.options.cuda else "OFF"
        for option in ("DETREDUCE_BUILD_PROGRAM", "DETREDUCE_BUILD_TESTS", "DETREDUCE_MPI", "DETREDUCE_NCCL"):
            toolchain.variables[option] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # it brings its own package
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "detreduce")]
        self.cpp_info.libs = ["detreduce"]
        self.cpp_info.system_libs = ["pthread"]
