tegula_test_folder(sim LABEL sim LINKS tegula_fuzzing tegula_inside)
