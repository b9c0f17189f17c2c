// Golden bits of row ops: a fingerprint of what each gives for rows of every kind, in the elements'
// arithmetic. They change only with a new spec_version_of(RowOp). Included by row_laws.hpp.
#pragma once

#include <detreduce/version.hpp>

namespace detreduce::proptests {

struct RowGolden {
    std::string_view op;
    std::uint64_t f16, bf16, f32, f64;
};
inline constexpr int row_golden_version = 3;
inline constexpr RowGolden row_golden[] = {
    {"logsumexp", 0x79b8be66f4185834, 0xcb4fbbab5346ccf0, 0xdb761d6e8b2d931c, 0x70d60827915afb},
    {"softmax", 0x67dc62539b8a07f8, 0xec89547be053f6b1, 0xbc8a40f4edc63f05, 0x3a24db7fa699c4be},
    {"log_softmax", 0x3bce59be6748b195, 0x897f69dc07322bcb, 0xe02cfa63d2698140, 0x8ec18497d4879ad9},
    {"layernorm", 0xb7b08557cf7fb7b5, 0x54b5508a41e3fb4f, 0x63dce1e4a170b608, 0xa94eef078a68fdf},
    {"rmsnorm", 0x3ee871c6489336fe, 0x836cf5b5c2b263a2, 0x5885d9c9fe6f723b, 0x650af3571bc47fd9},
    {"cross_entropy", 0xcd4c5da94cfb8110, 0xc4c519d42c3650d, 0x8b89d6cf54f8df5d, 0xf4da11073433d47a},
    {"cross_entropy_gradient", 0x6a1c4b17a0205079, 0x6eaa9914c1864ff4, 0xd2540546cb1fbd26, 0x7da076a432bd11b0},
    {"nll", 0xa45f9ec744233182, 0x4436041e0ca8993, 0xafa6a6683ef53db0, 0x80bd3cb49fddff54},
    {"nll_gradient", 0xde226339f49c281f, 0xccbbc961d258fa59, 0x191c9e8bd3790931, 0xa682e7b11128a822},
    {"softmax_gradient", 0x217f51b6bd94ed4, 0xd049d7fb84f92376, 0x3a07dbc6d1701332, 0x35f9eaf672cc663b},
    {"log_softmax_gradient", 0xe0d965cc209979d, 0x719f2f46f40b2ade, 0x12e59acff535d985, 0x1ecbfdcb986fcff1},
    {"logsumexp_gradient", 0x7f9366692118a28e, 0x3511718a4ace4115, 0x138d029618c146a6, 0x2d8f51432de2be77},
    {"layernorm_gradient", 0x73efc28e67cf19e6, 0x131bf57212b2c97b, 0x31d8f8a1cb9fb5a4, 0xd2477a00daf55175},
    {"rmsnorm_gradient", 0x60040a1a3aa1e62f, 0xa4833ca7fd5d027b, 0x579086960b7ac1b, 0x1fde7fc450482dfc},
    {"cross_entropy_target_gradient", 0x803b2f3bb265bf4e, 0x21c851665e3d384f, 0x9219eee2838edb36, 0x88dcc9d3557ae1a2},
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
