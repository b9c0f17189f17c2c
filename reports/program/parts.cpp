#include "parts.hpp"

#include <vector>

#include <fmt/format.h>

#include <detreduce/states.hpp>

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

/// add(of x, of y, how many) for part after part.
template <class Add>
void for_parts(const Named& x, const Named* y, const Add& add) {
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
        if (n == 0) return;
        const Status status = add(first.data(), second ? second->data() : nullptr, n);
        if (!status.ok()) throw Failure(to_string(status));
    }
}

} // namespace

host::Partial reduce_parts(const Request& request, const Named& x, const Named* y) {
    host::Partial partial(request);
    for_parts(x, y, [&](const void* of_x, const void* of_y, std::uint64_t n) { return partial.add(of_x, of_y, n); });
    return partial;
}

std::uint64_t add_parts(Request request, const Named& x, const Named* y, std::int64_t* states) {
    const OpInfo& op = info(request.op);
    std::uint64_t count = 0;
    std::vector<std::int64_t> part;
    for_parts(x, y, [&](const void* of_x, const void* of_y, std::uint64_t n) {
        request.n = n;
        const Plan plan = make_plan(request);
        part.resize(plan.state_words());
        Status status = run(plan, {of_x, of_y}, part.data());
        if (status.ok()) status = merge(plan, states, part.data());
        count += n;
        if (op.kind == Kind::order && op.gives_integer) request.first_index += n;
        return status;
    });
    return count;
}

} // namespace detreduce::program
