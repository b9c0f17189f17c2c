// A caller's rounding mode, flushing and whatever else its control word has.
#include "agree.hpp"

#include "golden/compute.hpp"
#include "laws/control_word.hpp"

namespace detreduce::machines {

void environments(Agreement& to) {
    using proptests::ControlWord;
    Draw draw{7};
    Fingerprint all;
    for (const OpInfo& op : ops()) {
        for (const DType dtype : dtypes()) {
            for (const Method method : {Method::exact, Method::tree, Method::compensated}) {
                const auto family = draw.of({accuracy::Family::subnormal, accuracy::Family::boundary_mantissas,
                                             accuracy::Family::wide, accuracy::Family::nonfinite});
                const golden::Case c{method, dtype, dtype, family, 1 + draw.below(3000), draw.word(), op.op};
                if (!make_plan(golden::request_of(c, cpu)).status().ok()) continue;
                const golden::Input in = golden::input_of(c);
                const std::uint64_t expected = golden::reduce_on_cpu(c, in, {.threads = 1});
                all.put(expected);
                for (const ControlWord::Word word : ControlWord::hostile) {
                    const ControlWord scope(word);
                    const std::uint64_t got = golden::reduce_on_cpu(c, in, {.threads = 2});
                    if (got != expected || ControlWord::now() != word)
                        to.fail("control word " + std::to_string(word) + ": " + golden::line_of({c, got}) + ", not " +
                                golden::bits_text(c, expected));
                }
            }
        }
    }
    to.line("environments", all.value());
}

} // namespace detreduce::machines
