import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.scm import Version


class TegulaConan(ConanFile):
    """Library, headers and tools. test/conan/platform is a profile that takes all requirements from the system."""

    name = "tegula"
    license = "Apache-2.0"
    description = "A C++20 embedded language for GPU tile kernels, with a CPU that runs and checks them"
    topics = ("gpu", "cuda", "dsl", "jit", "llvm")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],  # libtegula and libtegula_runtime
        "cuda": ["auto", "on", "off"],  # launches on GPUs; on and auto need cuda.h, auto builds without it too
        "compiler": [True, False],  # False: tegula::runtime alone, which needs no LLVM
        "static_llvm": [True, False],  # LLVM's archives instead of its shared library
    }
    default_options = {"shared": False, "cuda": "auto", "compiler": True, "static_llvm": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "lib/*"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = self.version or text.split("project(tegula VERSION ")[1].split()[0]

    def export(self):
        copy(self, "CMakeLists.txt", self.recipe_folder, self.export_folder)  # set_version reads it

    def configure(self):
        if not self.options.compiler:
            del self.options.static_llvm

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]", options={"header_only": True}, transitive_headers=True)
        self.requires("fmt/[>=9 <13]")
        self.requires("nlohmann_json/[>=3.9 <4]")
        self.requires("xxhash/[>=0.8 <1]")
        if self.options.compiler:
            self.requires("cli11/[>=2.1 <3]")
            self.requires("llvm-core/[>=19 <24]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tegula builds on Linux only")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.user_presets_path = False  # leaves the sources as they are
        variables = toolchain.cache_variables
        for part in ("TESTS", "SAMPLES", "BENCH"):
            variables[f"TEGULA_BUILD_{part}"] = False
        variables["TEGULA_SHARED"] = bool(self.options.shared)
        variables["TEGULA_COMPILER"] = bool(self.options.compiler)
        variables["TEGULA_CUDA"] = str(self.options.cuda)
        variables["TEGULA_STATIC_LLVM"] = bool(self.options.get_safe("static_llvm", False))
        # self.dependencies leaves out what the platform answers.
        versions = {requirement.ref.name: requirement.ref.version for requirement in self.requires.values()}
        if self.options.compiler:
            variables["TEGULA_LLVM_VERSION"] = str(Version(versions["llvm-core"]).major)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files name targets and what they need; CMakeDeps must not write others.
        self.cpp_info.set_property("cmake_find_mode", "none")
        runtime = self.cpp_info.components["runtime"]
        runtime.builddirs = ["lib/cmake/tegula"]
        runtime.libs = ["tegula_runtime"]
        runtime.system_libs = ["pthread", "dl"]
        runtime.requires = ["boost::headers", "fmt::fmt", "nlohmann_json::nlohmann_json", "xxhash::xxhash"]
        if self.options.compiler:
            compiler = self.cpp_info.components["tegula"]
            compiler.libs = ["tegula"]
            compiler.requires = ["runtime", "cli11::cli11", "llvm-core::llvm-core"]
