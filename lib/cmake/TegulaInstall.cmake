# Install rules and the package that find_package(tegula) reads. A client links tegula::tegula.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tegula")

get_property(libraries GLOBAL PROPERTY TEGULA_LIBRARIES)
get_property(tools GLOBAL PROPERTY TEGULA_TOOLS)
foreach(library IN LISTS libraries)
  target_include_directories(${library} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()
install(TARGETS ${libraries} tegula_llvm EXPORT tegulaTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(tools)
  install(TARGETS ${tools} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tegula" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
install(EXPORT tegulaTargets NAMESPACE tegula:: DESTINATION "${package_folder}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tegulaConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tegulaConfig.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tegulaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tegulaConfig.cmake" "${PROJECT_BINARY_DIR}/tegulaConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/TegulaKernels.cmake"
  DESTINATION "${package_folder}")
install(FILES "${PROJECT_SOURCE_DIR}/lib/tools/gdb/tegula_gdb.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/tegula/gdb")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/tegula")
