#include "file_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {

FileList::FileList(std::vector<Named> files) : files_(std::move(files)) {
    for (const Named& other : files_) {
        if (other.file->dtype() == dtype()) continue;
        throw Failure(fmt::format("{} holds {}, but {} holds {}; all must hold the same", other.name,
                                  detreduce::name(other.file->dtype()), files_.front().name, detreduce::name(dtype())));
    }
}

std::optional<Layout> FileList::layout() const {
    if (files_.size() > 1) return std::nullopt;
    return files_.front().file->layout();
}

std::uint64_t FileList::read(void* to, std::uint64_t n) {
    const std::uint64_t size = size_of(dtype());
    std::uint64_t done = 0;
    while (done < n && at_ < files_.size()) {
        const std::uint64_t got = files_[at_].file->read(static_cast<std::byte*>(to) + done * size, n - done);
        done += got;
        if (got == 0) ++at_;
    }
    return done;
}

Numbers FileList::all() {
    return files_.size() > 1 ? NumberFile::all() : files_.front().file->all();
}

std::optional<std::uint64_t> FileList::count() const {
    std::uint64_t n = 0;
    for (const Named& one : files_) {
        const auto its_count = one.file->count();
        if (!its_count) throw Failure(fmt::format("{} does not say how many numbers it holds", one.name));
        n += *its_count;
    }
    return n;
}

void FileList::skip(std::uint64_t n) {
    for (; n > 0 && at_ < files_.size(); ++at_) {
        NumberFile& file = *files_[at_].file;
        const std::uint64_t here = file.count().value(); // nothing was read before
        file.skip(std::min(n, here));
        if (here > n) return;
        n -= here;
    }
}

} // namespace detreduce::program
