// Raw little-endian elements, without a header.
#include <algorithm>

#include <fmt/format.h>

#include "failure.hpp"
#include "input.hpp"

namespace detreduce::program {
namespace {

class RawFile : public NumberFile {
  public:
    RawFile(std::unique_ptr<ByteSource> bytes, DType dtype)
        : bytes_(std::move(bytes)), dtype_(dtype), known_(bytes_->bytes_left()) {
        if (known_)
            require_countable(dtype_, whole_elements(*known_)); // what is known to be wrong fails before it is read
    }

    [[nodiscard]] DType dtype() const override { return dtype_; }

    [[nodiscard]] Numbers all() override {
        const Bytes bytes = bytes_->rest();
        return elements_of(bytes, dtype_, whole_elements(bytes.size));
    }

    [[nodiscard]] std::optional<std::uint64_t> count() const override {
        if (!known_) return std::nullopt;
        return whole_elements(*known_);
    }

    void skip(std::uint64_t n) override {
        bytes_->skip(n * size_of(dtype_));
        at_ += n * size_of(dtype_);
    }

    [[nodiscard]] std::uint64_t read(void* to, std::uint64_t n) override {
        const std::uint64_t left =
            known_ ? *known_ - at_ : ByteSource::no_limit; // what is written to a file meanwhile does not count
        const std::size_t got = bytes_->read_fully(to, std::min(left, n * size_of(dtype_)));
        at_ += got;
        if (got % size_of(dtype_) != 0) (void)whole_elements(at_);
        return got / size_of(dtype_);
    }

  private:
    std::uint64_t whole_elements(std::uint64_t bytes) const {
        const std::uint64_t size = size_of(dtype_);
        if (bytes % size == 0) return bytes / size;
        throw Failure(fmt::format("{} holds {} bytes, which is not a multiple of the {} bytes of {}", bytes_->name(),
                                  bytes, size, name(dtype_)));
    }

    std::unique_ptr<ByteSource> bytes_;
    DType dtype_;
    std::optional<std::uint64_t> known_; ///< bytes in all
    std::uint64_t at_ = 0;               ///< those that were read
};

} // namespace

std::unique_ptr<NumberFile> open_raw(std::unique_ptr<ByteSource> bytes, DType dtype) {
    return std::make_unique<RawFile>(std::move(bytes), dtype);
}

} // namespace detreduce::program
