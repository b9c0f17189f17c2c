// Files as one sequence of numbers, one file after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

class FileList : public NumberFile {
  public:
    /// Each file and how messages call it. Throws Failure unless all hold the same dtype.
    struct Named {
        std::string name;
        std::unique_ptr<NumberFile> file;
    };
    explicit FileList(std::vector<Named> files);
    [[nodiscard]] DType dtype() const override { return files_.front().file->dtype(); }
    /// That of a file that is alone.
    [[nodiscard]] std::optional<Layout> layout() const override;
    [[nodiscard]] std::uint64_t read(void* to, std::uint64_t n) override;
    [[nodiscard]] Numbers all() override;
    /// Throws Failure where a file does not say how many it holds.
    [[nodiscard]] std::optional<std::uint64_t> count() const override;
    void skip(std::uint64_t n) override;

  private:
    std::vector<Named> files_;
    std::size_t at_ = 0; ///< the file that is read
};

} // namespace detreduce::program
