# Commands of tegula_opt: each runs it on one file.
set(roundtrip "${CMAKE_CURRENT_SOURCE_DIR}/ir/roundtrip")

# tegula_opt_test(<what> ARGUMENTS ... [EXPECT <regex>] [ENVIRONMENT ...]): it must succeed, or print the text.
function(tegula_opt_test what)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPECT" "ARGUMENTS;ENVIRONMENT")
  tegula_command_test("tegula_opt: ${what}" LABELS ir EXPECT "${arg_EXPECT}" ENVIRONMENT ${arg_ENVIRONMENT}
    COMMAND tegula_opt ${arg_ARGUMENTS})
endfunction()

# tegula_opt_mistake(<what> REASON <regex> ARGUMENTS ...): a mistake of the caller gives exit status 1 and the reason,
# never "internal error".
function(tegula_opt_mistake what)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "REASON" "ARGUMENTS")
  tegula_command_test("tegula_opt: ${what} is the caller's mistake" LABELS ir
    COMMAND ${CMAKE_COMMAND} "-DREASON=${arg_REASON}" "-DPROGRAM=$<TARGET_FILE:tegula_opt>"
      "-DARGUMENTS=${arg_ARGUMENTS}" -P "${CMAKE_CURRENT_SOURCE_DIR}/support/refused.cmake")
endfunction()

tegula_opt_test("the host's own pipeline" ARGUMENTS --passes default --emit object "${roundtrip}/attention.tir")
tegula_opt_test("prints PTX" EXPECT "\\.target sm_90a"
  ARGUMENTS --passes default --target cuda --emit ptx "${roundtrip}/softmax.tir")
tegula_opt_test("draws a layout" EXPECT "w0 l0 r0" ARGUMENTS --picture "tile<64x8xf32, wgmma>")
tegula_opt_test("runs a replay file" EXPECT "constant {value = 5 : i64}"
  ARGUMENTS --replay "${CMAKE_CURRENT_SOURCE_DIR}/ir/replay/fold.txt")
tegula_opt_test("the target's own pipeline runs if no passes are given" EXPECT "\\.target sm_90a"
  ARGUMENTS --target cuda --emit ptx "${roundtrip}/softmax.tir")
tegula_opt_test("verified passes may go back to save shared memory" ENVIRONMENT "TEGULA_VERIFY=each"
  ARGUMENTS --target cuda --warps 8 --stages 3 --emit object "${CMAKE_CURRENT_SOURCE_DIR}/ir/tiles/attention_tiles.tir")
tegula_opt_mistake("a pipeline that lacks passes"
  REASON "needs layouts, but there is load without a layout in @softmax"
  ARGUMENTS -p none --target cuda --emit ptx "${roundtrip}/softmax.tir")
tegula_opt_mistake("a file that is missing" REASON "cannot read .*missing[.]tir: No such file or directory"
  ARGUMENTS "${roundtrip}/missing.tir")
tegula_opt_mistake("a folder in place of a file" REASON "cannot read .*roundtrip: it is a folder"
  ARGUMENTS "${roundtrip}")
tegula_opt_mistake("an unknown option" REASON "--warp" ARGUMENTS --warp 2)
tegula_opt_mistake("an unknown pass" REASON "unknown pass .fold-all" ARGUMENTS -p fold-all "${roundtrip}/softmax.tir")
tegula_opt_test("malformed text is refused with file, line and column"
  EXPECT "text\\.tir:2:1: error: expected \"tegula-ir 1\" as the first line, found kernel"
  ARGUMENTS --verify "${CMAKE_CURRENT_SOURCE_DIR}/ir/invalid/text.tir")
tegula_opt_test("lists ops as JSON" EXPECT "\\[\n{\"mnemonic\":\"for\",\"struct\":\"ForOp\",\"family\":\"control\""
  ARGUMENTS --list-ops)
tegula_opt_test("lists passes and environment" EXPECT "assign-layouts\n.*works on: planned. leads to: laid-out"
  ARGUMENTS --list-passes)

# A page of a product and of a kernel of rows: the unit tests of jit look into it.
foreach(kernel gemm_tiles softmax_rows)
  tegula_opt_test("makes the page of ${kernel}"
    EXPECT "^<!doctype html>.*id=\"pass-0\".*id=\"ptx\".*[.]target sm_90a.*id=\"advice\".*limit: .*id=\"timeline\""
    ARGUMENTS --target cuda --architecture sm_90a --extent 128 --page - "${CMAKE_CURRENT_SOURCE_DIR}/ir/tiles/${kernel}.tir")
endforeach()
tegula_opt_mistake("a page without passes" REASON "--page: expected passes, found none"
  ARGUMENTS --page - -p none "${roundtrip}/softmax.tir")
set(functions_alone "${CMAKE_CURRENT_BINARY_DIR}/functions_alone.tir")
file(CONFIGURE OUTPUT "${functions_alone}" CONTENT "tegula-ir 1\nfunction @f() {\n  return\n}\n")
tegula_opt_mistake("a page of functions alone" REASON "--page: the input has functions alone"
  ARGUMENTS --page - "${functions_alone}")
tegula_opt_mistake("a page in a folder that is missing" REASON "page: cannot write .*No such file or directory"
  ARGUMENTS --page "${CMAKE_CURRENT_BINARY_DIR}/missing/page.html" "${roundtrip}/softmax.tir")
