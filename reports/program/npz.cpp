#include "npz.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <zip.h>

#include "failure.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::int64_t most_members = 65535; // NumPy writes one for each array

struct DiscardArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

struct CloseMember {
    void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Member = std::unique_ptr<zip_file_t, CloseMember>;

/// An error of libzip, which keeps its text.
struct ZipError : zip_error_t {
    ZipError() { zip_error_init(this); }
    ~ZipError() { zip_error_fini(this); }
    ZipError(const ZipError&) = delete;
    ZipError& operator=(const ZipError&) = delete;
    [[nodiscard]] std::string text() { return zip_error_strerror(this); }
};

/// A member while it is read. Its end is checked: the length, and the checksum.
class MemberBytes : public ByteSource {
  public:
    MemberBytes(std::string name, Archive archive, Member member, std::uint64_t size,
                std::shared_ptr<const void> memory)
        : ByteSource(std::move(name)), memory_(std::move(memory)), archive_(std::move(archive)),
          member_(std::move(member)), left_(size) {}

    [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return left_; }

    [[nodiscard]] std::size_t read(void* to, std::size_t size) override {
        const std::uint64_t wanted = std::min<std::uint64_t>(size, left_);
        if (wanted == 0) return 0;
        const std::uint64_t got = take(to, wanted);
        if (got == 0) throw Failure(fmt::format("{} is damaged: {} bytes of it are missing", name(), left_));
        left_ -= got;
        char more = 0;
        if (left_ == 0 && take(&more, 1) != 0) // libzip compares checksums when it meets the end
            throw Failure(fmt::format("{} is damaged: it is longer than the archive says", name()));
        return got;
    }

  private:
    std::uint64_t take(void* to, std::uint64_t size) {
        const zip_int64_t got = zip_fread(member_.get(), to, size);
        if (got >= 0) return static_cast<std::uint64_t>(got);
        throw Failure(fmt::format("{} is damaged: {}", name(), zip_error_strerror(zip_file_get_error(member_.get()))));
    }

    std::shared_ptr<const void> memory_; ///< the archive, where it is in memory
    Archive archive_;
    Member member_;
    std::uint64_t left_;
};

Archive open_archive(const std::string& name, zip_source_t* source, ZipError& error) {
    Archive archive(source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
    if (archive == nullptr) {
        if (source != nullptr) zip_source_free(source);
        throw Failure(fmt::format("{} is not an .npz file: {}", name, error.text()));
    }
    const zip_int64_t members = zip_get_num_entries(archive.get(), 0);
    if (members > most_members)
        throw Failure(fmt::format("{} has {} members; allowed are at most {}", name, members, most_members));
    return archive;
}

Archive open_in_memory(const std::string& name, std::span<const std::byte> bytes) {
    if (bytes.empty()) throw Failure(fmt::format("{} is empty; allowed is an .npz file", name));
    ZipError error;
    return open_archive(name, zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error), error);
}

Archive open_file(const std::string& name, const std::string& path) {
    ZipError error;
    return open_archive(name, zip_source_file_create(path.c_str(), 0, -1, &error), error);
}

/// The names of members, as a user would write them.
std::string names_of(zip_t* archive) {
    constexpr std::int64_t most = 20;
    const zip_int64_t count = zip_get_num_entries(archive, 0);
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < std::min(count, most); ++i) {
        const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
        std::string_view text = name == nullptr ? "?" : name;
        if (text.ends_with(".npy")) text.remove_suffix(4);
        names.push_back(excerpt(text));
    }
    return fmt::format("{}{}", fmt::join(names, ", "), count > most ? ", …" : "");
}

/// How many members have this name: zip does not forbid two.
std::size_t count_named(zip_t* archive, std::string_view wanted) {
    const zip_int64_t members = zip_get_num_entries(archive, 0);
    std::size_t count = 0;
    for (zip_int64_t i = 0; i < members; ++i) {
        const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
        count += name != nullptr && name == wanted ? 1 : 0;
    }
    return count;
}

/// The index of the member that was asked for: the one of that very name if there is one, as in
/// NumPy, else NAME.npy.
zip_uint64_t find_member(const std::string& name, zip_t* archive, const std::string& member) {
    const zip_int64_t members = zip_get_num_entries(archive, 0);
    if (member.empty()) {
        if (members == 1) return 0;
        if (members == 0) throw Failure(fmt::format("{} has no members; allowed are one or more", name));
        throw Failure(fmt::format("{} has {} members; say which, as in data.npz:NAME; allowed are {}", name, members,
                                  names_of(archive)));
    }
    for (const std::string& spelling : {member, member + ".npy"}) {
        const zip_int64_t at = zip_name_locate(archive, spelling.c_str(), ZIP_FL_ENC_RAW);
        if (at < 0) continue;
        if (const std::size_t count = count_named(archive, spelling); count > 1) {
            throw Failure(
                fmt::format("{} has {} members named {}; allowed is one of a name", name, count, excerpt(spelling)));
        }
        return static_cast<zip_uint64_t>(at);
    }
    throw Failure(fmt::format("{} has no member {}; allowed are {}", name, excerpt(member), names_of(archive)));
}

std::unique_ptr<ByteSource> open_member(const std::string& name, Archive archive, const std::string& member,
                                        std::shared_ptr<const void> memory) {
    const zip_uint64_t index = find_member(name, archive.get(), member);
    const std::string its_name = member.empty() ? name : fmt::format("{}, member {},", name, excerpt(member));
    zip_stat_t about{};
    zip_stat_init(&about);
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive.get(), index, 0, &about) != 0 || (about.valid & needed) != needed)
        throw Failure(fmt::format("{} is damaged: {}", its_name, zip_strerror(archive.get())));
    if (about.encryption_method != ZIP_EM_NONE)
        throw Failure(fmt::format("{} is encrypted; allowed are members that are not", its_name));
    if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE) {
        throw Failure(fmt::format("{} is compressed by method {} of zip; allowed are 0 (stored) and 8 (deflated)",
                                  its_name, about.comp_method));
    }
    Member opened(zip_fopen_index(archive.get(), index, 0));
    if (opened == nullptr) throw Failure(fmt::format("{} is damaged: {}", its_name, zip_strerror(archive.get())));
    return std::make_unique<MemberBytes>(its_name, std::move(archive), std::move(opened), about.size,
                                         std::move(memory));
}

/// Where `.npz` ends in `a.npz:x`; npos where there is none. The last one counts.
std::size_t end_of_file_name(std::string_view path) {
    std::string lower(path);
    for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower.ends_with(".npz")) return path.size();
    const std::size_t at = lower.rfind(".npz:");
    return at == std::string::npos ? at : at + 4;
}

} // namespace

bool names_npz(std::string_view path) {
    return end_of_file_name(path) != std::string_view::npos;
}

std::string archive_of(const std::string& path) {
    return path.substr(0, end_of_file_name(path));
}

std::unique_ptr<ByteSource> open_npz_member(const std::string& path) {
    const std::string file = archive_of(path), member = file == path ? "" : path.substr(file.size() + 1);
    InputFile bytes(file); // says what is wrong with a file that is not there
    if (bytes.bytes_left() && file != "-")
        return open_member(bytes.name(), open_file(bytes.name(), file), member, nullptr);
    const Bytes all = bytes.rest(); // the directory of a zip is at its end
    return open_member(bytes.name(), open_in_memory(bytes.name(), {all.data, all.size}), member, all.owner);
}

std::unique_ptr<ByteSource> open_npz_member(const std::string& name, std::span<const std::byte> archive,
                                            const std::string& member) {
    return open_member(name, open_in_memory(name, archive), member, nullptr);
}

} // namespace detreduce::program
