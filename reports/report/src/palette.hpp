// Colours of the plots: Okabe and Ito's palette, told apart by people with any form of colour
// blindness. gnuplot draws with the light colour; the page's style sheet maps each to its dark
// twin.
#pragma once

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace detreduce::report {

struct Colour {
    std::string_view light, dark;
};

inline constexpr Colour ink{"#1b1f24", "#e6e8eb"};   // titles and labels
inline constexpr Colour axis{"#6b7280", "#9aa3ad"};  // frame and tics
inline constexpr Colour grid{"#e1e4e8", "#343b43"};  // grid lines
inline constexpr Colour paper{"#ffffff", "#14181d"}; // behind everything

inline constexpr Colour blue{"#0072b2", "#56b4e9"};
inline constexpr Colour vermillion{"#d55e00", "#ff8a3d"};
inline constexpr Colour green{"#009e73", "#35c99a"};
inline constexpr Colour purple{"#b0508a", "#dd93bb"};
inline constexpr Colour orange{"#c98700", "#f0b429"};
inline constexpr Colour grey{"#4b5563", "#b6bec8"};

inline constexpr Colour black{"#000000", "#ffffff"};
inline constexpr Colour sky{"#3a9bdc", "#a5d8ff"};
inline constexpr Colour olive{"#9a8f00", "#f0e442"};

inline constexpr std::array all_colours{ink,    axis,   grid, blue,  vermillion, green,
                                        purple, orange, grey, black, sky,        olive};

/// The colour of a method or candidate, the same in every plot. Names that are not known yet get
/// one by their letters.
[[nodiscard]] constexpr Colour colour_of(std::string_view name) {
    constexpr std::pair<std::string_view, Colour> known[] = {{"exact", black},
                                                             {"compensated", olive},
                                                             {"kahan", sky},
                                                             {"tree", blue},
                                                             {"atomic", vermillion},
                                                             {"serial", purple},
                                                             {"read", grey},
                                                             {"std::accumulate", orange},
                                                             {"cub::DeviceReduce::Sum", green},
                                                             {"CUB", green},
                                                             {"cuBLAS", purple},
                                                             {"Thrust", vermillion},
                                                             {"C++ library", orange},
                                                             {"copy", axis},
                                                             {"numpy.sum", green},
                                                             {"K0", vermillion},
                                                             {"K4", orange},
                                                             {"K7", sky},
                                                             {"shared memory", olive},
                                                             {"coarsened", purple},
                                                             {"second kernel", orange},
                                                             {"last block", green},
                                                             {"cooperative", purple},
                                                             {"CPU finish", grey}};
    for (const auto& [known_name, colour] : known)
        if (name == known_name) return colour;
    unsigned sum = 0;
    for (const char c : name)
        sum = sum * 31 + static_cast<unsigned char>(c);
    constexpr Colour others[] = {green, orange, purple, vermillion};
    return others[sum % std::size(others)];
}

} // namespace detreduce::report
