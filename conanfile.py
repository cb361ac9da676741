from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class TegulaConan(ConanFile):
    """Library, headers and tools. LLVM 19 or later and fmt are the system's: no recipe offers LLVM as a library."""

    name = "tegula"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "A C++20 embedded language for GPU tile kernels, with a CPU that runs and checks them"
    topics = ("gpu", "cuda", "dsl", "jit", "llvm")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"static_llvm": [True, False], "system_dependencies": [True, False]}
    default_options = {"static_llvm": False, "system_dependencies": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "lib/*"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if not self.options.system_dependencies:
            self.requires("boost/[>=1.81 <2]", options={"header_only": True}, transitive_headers=True)
            self.requires("fmt/[>=9 <12]")
            self.requires("cli11/[>=2.1 <3]")
            self.requires("nlohmann_json/[>=3.9 <4]")
            self.requires("xxhash/[>=0.8 <1]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tegula builds on Linux only")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables["TEGULA_BUILD_TESTS"] = False
        toolchain.cache_variables["TEGULA_BUILD_SAMPLES"] = False
        toolchain.cache_variables["TEGULA_BUILD_BENCH"] = False
        toolchain.cache_variables["TEGULA_STATIC_LLVM"] = bool(self.options.static_llvm)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files name what the archives need; CMakeDeps must not write others.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tegula"]
