# cmake -DTABLES=…;… -DOUTPUT=… -P embed.cmake: a source file that holds the tables, one behind the other, as a string.
foreach(_table IN LISTS TABLES)
  file(READ "${_table}" _text)
  string(APPEND _literals "\n        R\"tsv(${_text})tsv\"")
endforeach()
file(WRITE "${OUTPUT}" "#include \"golden/table.hpp\"\n\nstd::string_view detreduce::golden::embedded_table() noexcept {\n"
                       "    return ${_literals};\n}\n")
