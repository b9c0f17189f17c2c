// Raw little-endian elements, without a header.
#include <fmt/format.h>

#include "failure.hpp"
#include "input.hpp"

namespace detreduce::program {
namespace {

class RawFile : public NumberFile {
  public:
    RawFile(const std::string& path, DType dtype) : file_(path), dtype_(dtype) {}

    [[nodiscard]] DType dtype() const override { return dtype_; }

    [[nodiscard]] Numbers all() override {
        const Bytes bytes = file_.rest();
        return elements_of(bytes, dtype_, whole_elements(bytes.size));
    }

    void pour_into(Sink& sink) override {
        const std::optional<std::uint64_t> known =
            file_.bytes_left(); // what is known to be wrong fails before it is read
        if (known) require_countable(dtype_, whole_elements(*known));
        whole_elements(pour_bytes(file_, dtype_, known.value_or(InputFile::no_limit), sink));
    }

  private:
    std::uint64_t whole_elements(std::uint64_t bytes) const {
        const std::uint64_t size = size_of(dtype_);
        if (bytes % size == 0) return bytes / size;
        throw Failure(fmt::format("{} holds {} bytes, which is not a multiple of the {} bytes of {}", file_.name(),
                                  bytes, size, name(dtype_)));
    }

    InputFile file_;
    DType dtype_;
};

} // namespace

std::unique_ptr<NumberFile> open_raw(const std::string& path, DType dtype) {
    return std::make_unique<RawFile>(path, dtype);
}

} // namespace detreduce::program
