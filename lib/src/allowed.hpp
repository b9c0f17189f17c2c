// Lists of names in what is said about arguments, put together when the library is compiled: a
// status points to text that lives as long as the program.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <detreduce/loss_words.hpp>
#include <detreduce/types.hpp>

namespace detreduce {
namespace detail {

template <const auto& Before, const auto& Names>
struct Listed {
    /// f(each piece of the text).
    template <class F>
    static constexpr void each(const F& f) {
        f(std::string_view(Before));
        for (std::size_t i = 0; i < Names.size(); ++i) {
            if (i > 0) f(std::string_view(i + 1 < Names.size() ? ", " : " and "));
            f(Names[i]);
        }
    }
    static constexpr std::size_t size() {
        std::size_t all = 0;
        each([&](std::string_view piece) { all += piece.size(); });
        return all;
    }
    static constexpr std::array<char, size() + 1> make() {
        std::array<char, size() + 1> pieces{};
        std::size_t at = 0;
        each([&](std::string_view piece) {
            for (const char c : piece)
                pieces[at++] = c;
        });
        return pieces;
    }
    static constexpr std::array<char, size() + 1> text = make();
};
inline constexpr char allowed_are[] = "allowed are ";

#define DETREDUCE_NAME(name, c_name, type) std::string_view(#name),
inline constexpr std::array dtype_names{DETREDUCE_FORMATS(DETREDUCE_NAME)};
inline constexpr std::array names_from_16_bits{DETREDUCE_FORMATS_FROM_16_BITS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME
#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
inline constexpr std::array reduction_names{DETREDUCE_REDUCTIONS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME

} // namespace detail

/// "a, b and c" of `Names`, an array of them, behind `Before`.
template <const auto& Names, const auto& Before = detail::allowed_are>
inline constexpr const char* allowed = detail::Listed<Before, Names>::text.data();

/// What is said of an argument that is no dtype, or one that is not offered there.
inline constexpr const char* allowed_dtypes = allowed<detail::dtype_names>;
inline constexpr const char* dtypes_from_16_bits = allowed<detail::names_from_16_bits>;
inline constexpr const char* allowed_reductions = allowed<detail::reduction_names>;
/// What is said of one that is no op, no method or no shape: names of the registry.
extern const char* const allowed_ops;
extern const char* const allowed_methods;
extern const char* const allowed_shapes;

} // namespace detreduce
