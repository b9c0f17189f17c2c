// The tables of lib/SPEC.md, section 14.3, are the constants of detreduce::math: all of them, and
// nothing else, to the bit.
#include <support/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include <detreduce/math.hpp>

namespace detreduce::proptests {
namespace {

/// "log2_e", or "exp_polynomial 0" → the number in binary32 and in binary64, as far as there is
/// one. All of them are doubles.
using Constants = std::map<std::string, std::map<int, double>>;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    INFO(path);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class F>
void each_match(const std::string& text, const char* pattern, const F& f) {
    const std::regex regex(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
        f(*it);
}

void put(Constants& all, const std::string& name, int column, const std::string& number) {
    INFO(name << " = " << number);
    const double value = std::strtod(number.c_str(), nullptr); // it stops at a suffix
    if (column == 0 && name != "rsqrt_start") REQUIRE(static_cast<double>(static_cast<float>(value)) == value);
    REQUIRE(all[name].emplace(column, value).second);
}

Constants of_spec() {
    const std::string spec = text_of(std::filesystem::path(DETREDUCE_LIB) / "SPEC.md");
    const std::size_t begin = spec.find("\n### 14.3 The constants\n"), end = spec.find("\n## 15.");
    REQUIRE(begin < end);
    const std::string digits[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
    Constants all;
    std::size_t rows = 0;
    const std::string section = spec.substr(begin, end - begin);
    each_match(section, R"(\n\| `(\w+)`(?: c([^ ]+))? \| (?:`([^`]+)`)? \| `([^`]+)` \|(?=\n))",
               [&](const std::smatch& row) {
                   std::string name = row[1];
                   for (std::size_t d = 0; d < 10; ++d) {
                       if (row[2] == digits[d]) name += ' ' + std::to_string(d);
                   }
                   if (row[3].matched) put(all, name, 0, row[3]);
                   put(all, name, 1, row[4]);
                   ++rows;
               });
    std::size_t lines = 0;
    each_match(section, R"(\n\| `)", [&](const std::smatch&) { ++lines; });
    REQUIRE(rows == lines); // none that was not understood
    return all;
}

constexpr const char* hexadecimal = R"(-?0x[0-9a-f]+(?:\.[0-9a-f]+)?p[+-]?\d+)";

Constants of_headers() {
    Constants all;
    int numbers = 0, found = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(DETREDUCE_LIB) / "include/detreduce/math")) {
        const std::string code = std::regex_replace(text_of(entry.path()), std::regex("//[^\n]*"), "");
        each_match(code, hexadecimal, [&](const std::smatch&) { ++numbers; });
        each_match(code, R"(struct Constants<(float|double)> \{([^}]*)\};)", [&](const std::smatch& s) {
            const std::string body = s[2];
            each_match(body, R"((\w+) = (-?[0-9][0-9a-fxp.+-]*)[,;])", [&](const std::smatch& c) {
                put(all, c[1], s[1] == "float" ? 0 : 1, c[2]);
                found += std::regex_search(c.str(2), std::regex(hexadecimal));
            });
        });
        std::string name, type; // of the function that a polynomial is in
        each_match(code, R"(DETREDUCE_HD ([\w<>]+) (\w+)\(|polynomial\(\w+(?:\.\w+)?, ([^;]*0x[^;]*)\);)",
                   [&](const std::smatch& m) {
                       if (!m[3].matched) {
                           type = m[1], name = m[2];
                           return;
                       }
                       const std::string coefficients = m[3];
                       int i = 0;
                       each_match(coefficients, hexadecimal, [&](const std::smatch& c) {
                           const std::string one = name + ' ' + std::to_string(i++);
                           if (type != "double") put(all, one, 0, c.str());
                           if (type != "float") put(all, one, 1, c.str());
                           ++found;
                       });
                   });
    }
    REQUIRE(numbers == found + 2); // 2^54 and 2^27 of rsqrt are in the text
    return all;
}

} // namespace

TEST_CASE("SPEC.md: the tables of constants are those of the headers", "[spec]") {
    const Constants spec = of_spec(), headers = of_headers();
    REQUIRE(headers.size() > 20);
    for (const auto& [name, numbers] : headers) {
        INFO(name);
        REQUIRE(spec.count(name) == 1);
        REQUIRE(spec.at(name) == numbers);
    }
    REQUIRE(spec.size() == headers.size());
}

TEST_CASE("SPEC.md: the tables of constants are what is computed with", "[spec]") {
    Constants spec = of_spec();
    std::size_t named = 0, checked = 0;
    for (const auto& [name, numbers] : spec)
        named += name.find(' ') == std::string::npos;
    const auto check = [&](const char* name, auto binary32, auto binary64) {
        INFO(name);
        REQUIRE(spec[name][0] == static_cast<double>(binary32));
        REQUIRE(spec[name][1] == static_cast<double>(binary64));
        ++checked;
    };
    using F = math::detail::Constants<float>;
    using D = math::detail::Constants<double>;
    check("log2_e", F::log2_e, D::log2_e);
    check("ln2_high", F::ln2_high, D::ln2_high);
    check("ln2_low", F::ln2_low, D::ln2_low);
    check("shifter", F::shifter, D::shifter);
    check("sqrt_half", F::sqrt_half, D::sqrt_half);
    check("sqrt2_minus_1", F::sqrt2_minus_1, D::sqrt2_minus_1);
    check("tiny", F::tiny, D::tiny);
    check("exp_lowest", F::exp_lowest, D::exp_lowest);
    check("exp_highest", F::exp_highest, D::exp_highest);
    check("expm1_lowest", F::expm1_lowest, D::expm1_lowest);
    check("tanh_highest", F::tanh_highest, D::tanh_highest);
    check("straight", F::straight, D::straight);
    check("far", F::far, D::far);
    check("deepest", F::deepest, D::deepest);
    check("rsqrt_start", F::rsqrt_start, D::rsqrt_start);
    REQUIRE(checked == named);
}

} // namespace detreduce::proptests
