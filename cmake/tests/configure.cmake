# Configures a project and checks how that ends.
#   cmake -DSOURCE=… -DBINARY=… -DEXPECT=ok|fail -DSAYS=<text> -DARGUMENTS=-DA=b|-DC=d [-DENVIRONMENT=A=b|C=d] -P configure.cmake
# In ARGUMENTS, | stands between arguments and ^ for a semicolon inside one.
# SAYS: text that the output must contain (spaces and line breaks count as one), also when it fails.
string(REPLACE "^" "\\;" arguments "${ARGUMENTS}")
string(REPLACE "|" ";" arguments "${arguments}")
string(REPLACE "|" ";" environment "${ENVIRONMENT}")
file(REMOVE_RECURSE "${BINARY}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env --unset=CXXFLAGS --unset=CUDAFLAGS --unset=LDFLAGS --unset=CUDAARCHS ${environment}
          "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G Ninja -DDETREDUCE_BUILD_TESTS=OFF -DDETREDUCE_BUILD_PROGRAM=OFF ${arguments}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
message("${output}")
string(REGEX REPLACE "[ \n]+" " " flat "${output}")
string(FIND "${flat}" "${SAYS}" said)
if(EXPECT STREQUAL "ok" AND NOT result EQUAL 0)
  message(FATAL_ERROR "configuring failed; it should not have")
elseif(EXPECT STREQUAL "fail" AND result EQUAL 0)
  message(FATAL_ERROR "configuring went through; it should have failed")
elseif(said EQUAL -1)
  message(FATAL_ERROR "the output does not contain: ${SAYS}")
endif()
file(REMOVE_RECURSE "${BINARY}")
