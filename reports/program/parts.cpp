#include "parts.hpp"

#include <vector>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {
namespace {

/// A file that is read a part at a time.
class Parts {
  public:
    explicit Parts(const Named& of) : of_(of), buffer_(Sink::block_bytes) {}

    /// The next numbers: as many as there is room for, fewer at the end.
    std::uint64_t next() {
        const std::uint64_t got = of_.file.read(buffer_.data(), buffer_.size() / size_of(of_.file.dtype()));
        count_ += got;
        require_countable(of_.file.dtype(), count_);
        return got;
    }
    [[nodiscard]] const void* data() const { return buffer_.data(); }
    [[nodiscard]] const std::string& name() const { return of_.name; }
    /// How many there are; of those that do not end soon, how many there are at least.
    [[nodiscard]] std::string count_text(bool ended) {
        if (!ended) ended = next() < buffer_.size() / size_of(of_.file.dtype());
        return fmt::format("{}{}", count_, ended ? "" : " or more");
    }

  private:
    const Named& of_;
    std::vector<std::byte> buffer_;
    std::uint64_t count_ = 0;
};

} // namespace

host::Partial reduce_parts(const Request& request, const Named& x, const Named* y) {
    host::Partial partial(request);
    Parts first(x);
    std::unique_ptr<Parts> second = y == nullptr ? nullptr : std::make_unique<Parts>(*y);
    const std::uint64_t most = Sink::block_bytes / size_of(x.file.dtype());
    for (;;) {
        const std::uint64_t n = first.next(), m = second ? second->next() : n;
        if (n != m) {
            const std::string of_x = first.count_text(n < most), of_y = second->count_text(m < most);
            throw Failure(fmt::format("{} has {} numbers, but {} has {}; both must have as many", second->name(), of_y,
                                      first.name(), of_x));
        }
        if (n == 0) return partial;
        const Status status = partial.add(first.data(), second ? second->data() : nullptr, n);
        if (!status.ok()) throw Failure(to_string(status));
    }
}

} // namespace detreduce::program
