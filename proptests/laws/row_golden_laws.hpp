// Golden bits of row ops: a fingerprint of what each gives for rows of every kind, in the elements'
// arithmetic. They change only with a new spec_version_of(RowOp). Included by row_laws.hpp.
#pragma once

#include <detreduce/version.hpp>

namespace detreduce::proptests {

struct RowGolden {
    std::string_view op;
    std::uint64_t f16, bf16, f32, f64;
};
inline constexpr int row_golden_version = 2;
inline constexpr RowGolden row_golden[] = {
    {"logsumexp", 0x562fef307168861e, 0x313301015ce0aaf8, 0xdb761d6e8b2d931c, 0x55641613a8cdda86},
    {"softmax", 0xfc62a1d31c53a942, 0x15cc6048a169fc4e, 0x97ee870d6bacc9a9, 0xc480ebfa46643bc6},
    {"log_softmax", 0xfd549c8833888341, 0xa196a3cad1bee0c4, 0x815c652ed0dacd19, 0x2348bb38b9c9a0aa},
    {"layernorm", 0xb7b08557cf7fb7b5, 0x54b5508a41e3fb4f, 0x63dce1e4a170b608, 0xa94eef078a68fdf},
    {"rmsnorm", 0x3ee871c6489336fe, 0x836cf5b5c2b263a2, 0x5885d9c9fe6f723b, 0x650af3571bc47fd9},
    {"cross_entropy", 0x514c51475e58a9a9, 0x7d2b76d4080e00f7, 0x8b89d6cf54f8df5d, 0x5c0f7c21a83ebda6},
    {"cross_entropy_gradient", 0xfab94ee3d01b96da, 0x1d425e686902669f, 0x83a27e3f56820e5d, 0xf27487dfb466a759},
    {"nll", 0xa45f9ec744233182, 0x4436041e0ca8993, 0xafa6a6683ef53db0, 0x80bd3cb49fddff54},
    {"nll_gradient", 0xde226339f49c281f, 0xccbbc961d258fa59, 0x191c9e8bd3790931, 0xa682e7b11128a822},
    {"softmax_gradient", 0x217f51b6bd94ed4, 0xd049d7fb84f92376, 0x3a07dbc6d1701332, 0x35f9eaf672cc663b},
    {"log_softmax_gradient", 0xe0d965cc209979d, 0x719f2f46f40b2ade, 0x12e59acff535d985, 0x1ecbfdcb986fcff1},
    {"logsumexp_gradient", 0xed20ef331fdd3fca, 0xd556f9e7cb0f3176, 0x574693ba71f2fc2b, 0x757c6ca2b65b07ba},
    {"layernorm_gradient", 0x73efc28e67cf19e6, 0x131bf57212b2c97b, 0x31d8f8a1cb9fb5a4, 0xd2477a00daf55175},
    {"rmsnorm_gradient", 0x60040a1a3aa1e62f, 0xa4833ca7fd5d027b, 0x579086960b7ac1b, 0x1fde7fc450482dfc},
    {"cross_entropy_target_gradient", 0x34ed6215173cdb5b, 0xfbce3ab3e5ee5d83, 0x361e32f167fb8c23, 0x332b7f1bbec2e08c},
};

template <class T>
std::uint64_t row_fingerprint(RowOp op) {
    using V = fp::Arithmetic<T>;
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a, as of serialized states
    const auto put = [&](const std::vector<V>& values) {
        for (const V v : values) {
            for (std::size_t byte = 0; byte < sizeof v; ++byte)
                hash = (hash ^ (std::uint64_t{fp::to_bits(v)} >> 8 * byte & 0xff)) * 0x100000001b3u;
        }
    };
    for (const RowVariant& v : variants(op)) {
        for (const std::uint64_t n : {1, 33, 1000, 9000}) {
            RowRequest r{.op = op,
                         .n = n,
                         .rows = row_kinds,
                         .label_smoothing = v.smoothing ? 0.25 : 0,
                         .reduction = Reduction::none};
            const auto got = run_rows<V>(r, row_data<T>(r, v, n + 14), 0);
            put(got.out);
            put(got.mean);
            put(got.rstd);
            put(got.weight);
        }
    }
    return hash;
}

TEST_CASE("rows: golden bits", "[rows][golden]") {
    REQUIRE(spec_version_of(RowOp::softmax) == row_golden_version);
    for (const RowGolden& g : row_golden) {
        for (const RowOp op : RowBackend::ops()) {
            if (name(op) != g.op) continue;
            INFO(g.op << std::hex << " 0x" << row_fingerprint<float16>(op) << " 0x" << row_fingerprint<bfloat16>(op)
                      << " 0x" << row_fingerprint<float>(op) << " 0x" << row_fingerprint<double>(op));
            CHECK(row_fingerprint<float16>(op) == g.f16);
            CHECK(row_fingerprint<bfloat16>(op) == g.bf16);
            CHECK(row_fingerprint<float>(op) == g.f32);
            CHECK(row_fingerprint<double>(op) == g.f64);
        }
    }
}

} // namespace detreduce::proptests
