# cmake -DTABLE=… -DOUTPUT=… -P embed.cmake: a source file that holds the table as a string.
file(READ "${TABLE}" _text)
file(WRITE "${OUTPUT}" "#include \"golden/table.hpp\"\n\nstd::string_view detreduce::golden::embedded_table() noexcept {\n"
                       "    return R\"tsv(${_text})tsv\";\n}\n")
