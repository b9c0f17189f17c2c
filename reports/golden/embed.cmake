# cmake -DTABLES=…;… -DFUNCTION=namespace::name -DHEADER=… -DOUTPUT=… -P embed.cmake: a source file
# that holds the tables, one behind the other, as the string that the function of that header gives.
foreach(_table IN LISTS TABLES)
  file(READ "${_table}" _text)
  string(APPEND _literals "\n        R\"tsv(${_text})tsv\"")
endforeach()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nstd::string_view ${FUNCTION}() noexcept {\n"
                       "    return ${_literals};\n}\n")
