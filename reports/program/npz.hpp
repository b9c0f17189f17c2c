// Members of .npz files, which are zip archives of .npy files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "input.hpp"

namespace detreduce::program {

/// Does `path` name an .npz file (`a.npz`) or a member of one (`a.npz:x`)? Letters of either case.
[[nodiscard]] bool names_npz(std::string_view path);

/// The archive that such a path is of: `a.npz` of `a.npz:x`. A path that names none is the file
/// itself.
[[nodiscard]] std::string archive_of(const std::string& path);

/// The bytes of a member: `a.npz:x` is x, or else x.npy, in a.npz; `a.npz` its only one. `-` is the
/// only one of standard input. Compression, sizes and checksums are checked while it is read.
/// Throws Failure.
[[nodiscard]] std::unique_ptr<ByteSource> open_npz_member(const std::string& path);

/// The same of an archive in memory, which must outlive it. `member`: its name; empty: the only
/// one.
[[nodiscard]] std::unique_ptr<ByteSource> open_npz_member(const std::string& name, std::span<const std::byte> archive,
                                                          const std::string& member);

} // namespace detreduce::program
