#include "npy_header.hpp"

#include <charconv>

#include <fmt/format.h>

#include "failure.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// Reads the little of Python's syntax that NumPy writes, from left to right.
class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    [[noreturn]] void fail(std::string_view what) const {
        throw Failure(fmt::format("{} has a malformed .npy header: {} at byte {} of it", file_, what, at_));
    }

    /// Skips blanks, then takes `token` if it comes next.
    bool take(std::string_view token) {
        skip_blanks();
        if (!text_.substr(at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }

    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("expected {}", token));
    }

    void expect_end() {
        skip_blanks();
        if (at_ != text_.size()) fail("expected nothing more");
    }

    std::string string() {
        const char* const quote = take("'") ? "'" : "\"";
        if (*quote == '"') expect("\"");
        return until(quote);
    }

    /// A dtype is a string, or a list when it is structured; NumPy's other spellings do not reach
    /// files.
    std::string descr() { return take("[") ? "[" + until("]") + "]" : string(); }

    bool boolean() {
        if (take("True")) return true;
        if (!take("False")) fail("expected True or False");
        return false;
    }

    std::vector<std::uint64_t> shape() {
        std::vector<std::uint64_t> shape;
        expect("(");
        bool comma = true; // before the first number none is needed
        while (!take(")")) {
            if (!comma) fail("expected , or )");
            shape.push_back(integer());
            comma = take(",");
        }
        if (shape.size() == 1 && !comma) fail("expected , in (n,)"); // (3) is a number in Python, not a shape
        return shape;
    }

  private:
    void skip_blanks() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }

    std::string until(std::string_view end) {
        const std::size_t stop = text_.find(end, at_);
        if (stop == std::string_view::npos) fail(fmt::format("expected {}", end));
        std::string found(text_.substr(at_, stop - at_));
        at_ = stop + end.size();
        return found;
    }

    std::uint64_t integer() {
        skip_blanks();
        std::uint64_t value = 0;
        const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error == std::errc::result_out_of_range) fail("a dimension beyond 64 bits");
        if (error != std::errc{}) fail("expected a dimension");
        at_ = static_cast<std::size_t>(stop - text_.data());
        take("L"); // Python 2 wrote (3L,)
        return value;
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
};

} // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file) {
    Reader in(text, file);
    NpyHeader header;
    bool have_descr = false, have_order = false, have_shape = false;
    const auto once = [&in](bool& have) {
        if (have) in.fail("a key given twice");
        have = true;
    };
    in.expect("{");
    for (bool more = true; more && !in.take("}");) {
        const std::string key = in.string();
        in.expect(":");
        if (key == "descr") {
            once(have_descr);
            header.descr = in.descr();
        } else if (key == "fortran_order") {
            once(have_order);
            header.fortran_order = in.boolean();
        } else if (key == "shape") {
            once(have_shape);
            header.shape = in.shape();
        } else {
            in.fail("unknown key " + excerpt(key));
        }
        more = in.take(",");
        if (!more) in.expect("}");
    }
    in.expect_end();
    if (!have_descr || !have_order || !have_shape) in.fail("one of the keys descr, fortran_order and shape is missing");
    return header;
}

} // namespace detreduce::program
