// Golden bits of losses: terms, sums and means by every method, and gradients, in the format in
// which terms are added. They change only with a new spec_version_of(Loss). Included by
// loss_laws.hpp.
#pragma once

#include <detreduce/version.hpp>

#include "laws/golden_hash.hpp"

namespace detreduce::proptests {

inline constexpr Golden loss_golden[] = {
    {"mse", 0xc8b701bb2096ec8f, 0x4387e7554683baca, 0xccf136212a6a06fb, 0x4d316cb8b9f9282e},
    {"mae", 0x369b135beffd83ef, 0xf5a731c12553ce04, 0xd32e7d78fe97e705, 0x31cdd5ff1d0900f},
    {"huber", 0x55659f91fd6b5617, 0x4bd1d5b66f312f16, 0xec1f3bb2721888b, 0x8b882a8e916224aa},
    {"smooth_l1", 0xfec8171fff800059, 0xc97f20db3cdf4811, 0xb34450f7e7ccce21, 0xbf0767ef789dffae},
    {"bce", 0x9535e2bf6df2d92e, 0x57b5087891380cba, 0xc538761b4885871c, 0x983e469035c04d74},
    {"bce_with_logits", 0xe5a1bd32bf62358d, 0xa945c193da5544c2, 0xc2769f899d02c180, 0x23accca995153b12},
    {"kl_div", 0x5e553ee90576c80b, 0x19d41cf2737d1cec, 0xf1a9f2d45e2855d0, 0x85bfd80e349ff2ab},
    {"kl_div_log_target", 0xe77bc0d41697f3cd, 0xa5cb71506f1b1973, 0xce669604cc47b962, 0xec594bc76aba297c},
    {"focal", 0xa3b8a5d7ed9273ae, 0xbc1cbfafcffc6e35, 0xe8bc7b4cc6624645, 0xe41646cb1f22b960},
};

template <class T>
std::uint64_t loss_fingerprint(Loss loss) {
    using V = TermOf<T>;
    GoldenHash hash;
    for (const std::size_t n : {1, 33, 20011}) {
        const auto data = loss_data<T>(loss, n, n);
        for (const bool weighted : {false, true}) {
            LossRequest r{.loss = loss, .reduction = Reduction::none, .parameter = 0.375, .weighted = weighted};
            hash.put(LossBackend::template run<V>(r, data, 0));
            for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
                r.reduction = reduction;
                for (const Method method : loss_methods) {
                    r.method = method;
                    hash.put(LossBackend::template run<V>(r, data, 0));
                }
            }
            r.method = Method::exact;
            for (const LossArgument argument : {LossArgument::x, LossArgument::target, LossArgument::weight}) {
                if (argument == LossArgument::weight && !weighted) continue;
                r.with_respect_to = argument;
                hash.put(LossBackend::gradient(r, data, data.weight.size() > 1 ? std::vector<T>{} : data.weight, 0));
            }
        }
    }
    return hash.value();
}

TEST_CASE("losses: golden bits", "[losses][golden]") {
    REQUIRE(spec_version_of(Loss::mse) == 2);
    REQUIRE(std::size(loss_golden) == std::size(all_losses));
    for (std::size_t i = 0; i < std::size(all_losses); ++i) {
        REQUIRE(loss_golden[i].name == name(all_losses[i]));
        check_golden(loss_golden[i], [&]<class T>(T) { return loss_fingerprint<T>(all_losses[i]); });
    }
}

} // namespace detreduce::proptests
