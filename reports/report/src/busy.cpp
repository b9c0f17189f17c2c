#include "busy.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sched.h>
#include <sstream>
#include <thread>

namespace detreduce::report {
namespace {

struct Ticks {
    std::uint64_t idle = 0, all = 0;
};

// Of each processor: "cpu0 user nice system idle iowait irq softirq steal …". What follows is
// counted in user and nice.
std::map<int, Ticks> ticks_of(const std::string& text) {
    std::map<int, Ticks> ticks;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        char c = 0, p = 0, u = 0;
        int number = 0;
        if (!(words >> c >> p >> u) || c != 'c' || p != 'p' || u != 'u' || line.size() < 4 || line[3] == ' ' ||
            !(words >> number))
            continue;
        Ticks one;
        std::uint64_t value = 0;
        for (int field = 0; field < 8 && words >> value; ++field) {
            one.all += value;
            if (field == 3 || field == 4) one.idle += value;
        }
        ticks[number] = one;
    }
    return ticks;
}

std::string stat_file() {
    std::ifstream in("/proc/stat");
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

std::optional<double> busy_share(const std::string& before, const std::string& after,
                                 const std::function<bool(int)>& is_ours) {
    const std::map<int, Ticks> first = ticks_of(before);
    double idle = 0, all = 0; // iowait may go down: no unsigned difference
    for (const auto& [number, now] : ticks_of(after)) {
        const auto then = first.find(number);
        if (then == first.end() || !is_ours(number)) continue;
        idle += static_cast<double>(now.idle) - static_cast<double>(then->second.idle);
        all += static_cast<double>(now.all) - static_cast<double>(then->second.all);
    }
    if (all <= 0) return {};
    return std::min(1.0, std::max(0.0, 1 - idle / all));
}

std::optional<double> share_of_others(std::chrono::milliseconds span) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    const bool known = ::sched_getaffinity(0, sizeof mine, &mine) == 0; // not so of more than 1024 processors
    const std::string before = stat_file();
    std::this_thread::sleep_for(span);
    return busy_share(before, stat_file(), [&](int number) { return !known || CPU_ISSET(number, &mine); });
}

} // namespace detreduce::report
