tegula_test_folder(codegen LABEL ir LINKS tegula_inside tegula_llvm)
if(TARGET tegula_test_codegen)  # see compile_time_test.cpp
  target_link_options(tegula_test_codegen PRIVATE "LINKER:--wrap=_ZNK6tegula2ir2Op7checkedENS0_6OpKindE")
endif()
