#include "files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::report {
namespace fs = std::filesystem;
using program::Failure;

void prepare_directory(const fs::path& dir) {
    std::error_code error;
    if (fs::exists(dir, error) && !fs::is_directory(dir, error))
        throw Failure(
            fmt::format("--out {}: exists and is not a directory; name a directory, new or existing", dir.string()));
    fs::create_directories(dir, error);
    if (error) throw Failure(fmt::format("--out {}: cannot be created ({})", dir.string(), error.message()));
    const fs::path probe = dir / ".detreduce-probe";
    const bool writable = std::ofstream(probe).put('x').flush().good();
    fs::remove(probe, error);
    if (!writable)
        throw Failure(
            fmt::format("--out {}: cannot be written to; name a directory that you may write to", dir.string()));
}

std::string read_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) throw Failure(fmt::format("{}: cannot be read", file.string()));
    return text;
}

void write_file(const fs::path& file, std::string_view text) {
    fs::path partial = file;
    partial += ".partial";
    std::error_code error;
    {
        std::ofstream out(partial, std::ios::binary | std::ios::trunc);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        out.close();
        if (!out) {
            fs::remove(partial, error);
            throw Failure(fmt::format("{}: cannot be written (no permission, or the disk is full)", file.string()));
        }
    }
    fs::rename(partial, file, error);
    if (!error) return;
    const std::string why = error.message();
    fs::remove(partial, error);
    throw Failure(fmt::format("{}: cannot be written ({})", file.string(), why));
}

TemporaryDirectory::TemporaryDirectory() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    std::string name = (base / "detreduce-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
        throw Failure(fmt::format("no temporary directory can be made under {} ({}); set TMPDIR to a writable one",
                                  base.string(), std::strerror(errno)));
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

} // namespace detreduce::report
