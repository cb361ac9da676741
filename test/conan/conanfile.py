import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TegulaTestConan(ConanFile):
    """Builds and runs the clients of test/install against the package."""

    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for client in ("client", "embedded"):
                self.run(os.path.join(self.cpp.build.bindir, client), env="conanrun")
        package = self.dependencies["tegula"]
        if package.options.shared:
            files = (os.path.join(package.package_folder, "lib", f"lib{name}.so") for name in ("tegula", "tegula_runtime"))
            script = os.path.join(self.source_folder, os.pardir, "coexist", "shown_names.cmake")
            self.run(f'cmake -DNM=nm "-DLIBRARIES={";".join(files)}" -P "{script}"')
