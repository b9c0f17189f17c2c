// Golden bits of what is made of all rows, the mean and the sum of losses and the gradients of
// scale and shift, and of the options that row_golden_laws.hpp does not know. They change only with
// a new spec_version_of(RowOp). Included by row_laws.hpp.
#pragma once

#include <detreduce/version.hpp>

#include "laws/golden_hash.hpp"

namespace detreduce::proptests {

inline constexpr Golden batch_golden[] = {
    {"cross_entropy", 0x2fac33101223de55, 0x9eb870ecef4b85fd, 0xd0557bf077ad74fe, 0x4068335988505d42},
    {"nll", 0x138ece67e7722188, 0xca9a95cfd0004855, 0x85a0055f863233b4, 0x148ad7273112a1ff},
    {"cross_entropy_gradient", 0x96d6cf8213db4fad, 0xe39feb2ec1546dcd, 0xf4956ddd13c7b1ac, 0x760b1f1101880d22},
    {"nll_gradient", 0x1b6763b7b1e62275, 0x3308076fb6b08235, 0x653ed8432f77fd1b, 0xa4aeb60d8033d382},
};
inline constexpr Golden parameter_golden[] = {
    {"layernorm_gradient", 0xf3a3d0f2584e64e1, 0xb4dd66db513d4c25, 0x2f98dcd5aefbf45e, 0x95bb8dc583e7a8f9},
    {"rmsnorm_gradient", 0xb42b5290480061d2, 0xcf557e5786806931, 0x4d5aafd57029afb8, 0x840c7fb16249159b},
};
inline constexpr Golden option_golden[] = {
    {"cross_entropy", 0xc30c83e986c0dfae, 0x840e3dbb103833af, 0x1b5a216f0afa3c91, 0xac0660accc725f86},
    {"cross_entropy_gradient", 0x1c67b32c488142c0, 0x1a45cff3f4c82bf, 0x65ecaf537c7cc3fd, 0xb7c6d12b9387215d},
    {"nll_gradient", 0x75a3dbfd2f127f37, 0x4285fb3305757e1a, 0x209339c197426c, 0xecdb4fade9f03586},
    {"cross_entropy_target_gradient", 0x4bcce3682a3b52e3, 0xd588603a35c66e91, 0x5bf620c42b232f26, 0x81a4b81bce76f277},
};

/// check(op) of each op of the list that the backend has.
template <class Check>
void for_golden(std::span<const Golden> list, const Check& check) {
    for (const Golden& g : list) {
        for (const RowOp op : RowBackend::ops()) {
            if (name(op) == g.name) check(g, op);
        }
    }
}

TEST_CASE("rows: golden bits of batches", "[rows][golden]") {
    REQUIRE(spec_version_of(RowOp::softmax) == row_golden_version);
    for_golden(batch_golden, [](const Golden& g, RowOp op) {
        check_golden(g, [op]<class T>(T) {
            using V = fp::Arithmetic<T>;
            GoldenHash hash;
            for (const RowVariant& v : variants(op)) {
                for (const auto& [n, rows] : {std::pair<std::uint64_t, std::uint64_t>{5, 1200}, {400, 37}}) {
                    RowRequest r{.op = op, .n = n, .rows = rows, .label_smoothing = v.smoothing ? 0.25 : 0};
                    auto data = row_data<T>(r, v, n);
                    mend(data, r);
                    for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
                        for (const Method method : batch_methods) {
                            r.reduction = reduction;
                            r.method = method;
                            hash.put(run_rows<V>(r, data, 0).out);
                        }
                    }
                }
            }
            return hash.value();
        });
    });
}

TEST_CASE("rows: golden bits of the gradients of scale and shift", "[rows][golden]") {
    for_golden(parameter_golden, [](const Golden& g, RowOp op) {
        check_golden(g, [op]<class T>(T) {
            using V = fp::Arithmetic<T>;
            GoldenHash hash;
            for (const auto& [n, rows] : {std::pair<std::uint64_t, std::uint64_t>{1, 3000}, {33, 700}, {1000, 7}}) {
                RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none};
                auto data = row_data<T>(r, {.scale = true}, n);
                mend(data, r);
                for (const Method method : batch_methods) {
                    r.method = method;
                    std::vector<V> dx;
                    for (const auto& sums : run_of_columns<V>(r, data, 0, false, dx))
                        hash.put(sums);
                    hash.put(dx);
                }
            }
            return hash.value();
        });
    });
}

TEST_CASE("rows: golden bits of a factor for each row, and of z-loss", "[rows][golden]") {
    for_golden(option_golden, [](const Golden& g, RowOp op) {
        check_golden(g, [op]<class T>(T) {
            using V = fp::Arithmetic<T>;
            GoldenHash hash;
            for (const RowVariant& v : all_variants(op)) {
                if ((!v.upstream && !v.z_loss) || v.exp_sums) continue;
                for (const std::uint64_t n : {1, 33, 1000, 9000}) {
                    RowRequest r{.op = op,
                                 .n = n,
                                 .rows = row_kinds,
                                 .label_smoothing = v.smoothing ? 0.25 : 0,
                                 .z_loss = v.z_loss ? 0.01 : 0,
                                 .reduction = Reduction::none};
                    hash.put(run_rows<V>(r, row_data<T>(r, v, n + 14), 0).out);
                }
            }
            return hash.value();
        });
    });
}

} // namespace detreduce::proptests
