// Laws of the gradients of scale and shift, which are summed over the rows. Included by
// row_laws.hpp.
#pragma once

namespace detreduce::proptests {

/// The gradients of scale and shift, by plain code.
template <class Out, class T>
std::vector<std::vector<Out>> expected_of_columns(const RowRequest& r, const RowData<T>& data) {
    using V = fp::Arithmetic<T>;
    std::vector<std::vector<Out>> both(2);
    for (std::uint64_t j = 0; j < r.n; ++j) {
        std::vector<V> products;
        std::vector<T> upstream;
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            const std::uint64_t at = i * r.n + j;
            const V mean = data.mean.empty() ? V(0) : data.mean[i];
            products.push_back(fp::widen(data.upstream[at]) * ((fp::widen(data.x[at]) - mean) * data.rstd[i]));
            upstream.push_back(data.upstream[at]);
        }
        both[0].push_back(reduce_as<Out>(Op::sum, products, r.method));
        if (r.op == RowOp::layernorm_gradient) both[1].push_back(reduce_as<Out>(Op::sum, upstream, r.method));
    }
    return both;
}

/// Runs a gradient with those of scale and, if there is one and it is wanted, shift; over upstream
/// if it is to be.
template <class Out, class T>
std::vector<std::vector<Out>> run_of_columns(RowRequest r, const RowData<T>& data, unsigned offset, bool in_place,
                                             std::vector<Out>& dx, bool wants_shift = true) {
    r.dtype = dtype_of<T>;
    r.output = dtype_of<Out>;
    r.device = RowBackend::device;
    r.parameters = true;
    const RowPlan plan = make_row_plan(r);
    throw_if_error(plan.status());
    const auto array = [&]<class N>(const std::vector<N>& x, unsigned by) { return RowBackend::Array<N>(x, by); };
    const std::uint64_t upstream_stride = r.upstream_stride ? r.upstream_stride : r.n;
    const auto x = array(spread(data.x, r.n, r.rows, plan.stride(), quiet_nan<T>), offset);
    const auto upstream = array(spread(data.upstream, r.n, r.rows, upstream_stride, quiet_nan<T>), offset);
    const auto scale = array(data.scale, offset / 2);
    const auto mean = array(data.mean, offset), rstd = array(data.rstd, offset / 2);
    const auto out = array(std::vector<Out>(r.rows * r.n), offset);
    const std::vector<Out> blank(r.n, number<Out>(77));
    const auto of_scale = array(blank, offset % 5),
               of_shift =
                   array(wants_shift && r.op == RowOp::layernorm_gradient ? blank : std::vector<Out>(), offset % 3);
    RowBackend::execute(plan, {.x = x.data(),
                               .out = in_place ? static_cast<void*>(upstream.data()) : out.data(),
                               .scale = scale.data(),
                               .mean = mean.data(),
                               .rstd = rstd.data(),
                               .upstream = upstream.data(),
                               .scale_gradient = of_scale.data(),
                               .shift_gradient = of_shift.data()});
    if (in_place) {
        if constexpr (std::is_same_v<Out, T>)
            dx = gathered(upstream.fetched(), r.n, r.rows, upstream_stride, quiet_nan<T>);
    } else {
        dx = out.fetched();
    }
    return {of_scale.fetched(), of_shift.fetched()};
}

template <class Out>
void require_columns(const std::vector<std::vector<Out>>& got, const std::vector<std::vector<Out>>& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t k = 0; k < got.size(); ++k)
        require_same(RowResults<Out, float>{got[k], {}, {}, {}}, RowResults<Out, float>{expected[k], {}, {}, {}});
}

TEMPLATE_TEST_CASE("row gradients: those of scale and shift are sums over the rows", "[rows][gradients]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const auto& [n, rows] :
             {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {1, 9000}, {33, 700}, {1000, 7}, {5123, 2}, {5, 0}}) {
            for (const Method method : batch_methods) {
                const auto word =
                    accuracy::hash(n + 5, static_cast<std::uint64_t>(method) * 2 + (op == RowOp::rmsnorm_gradient));
                RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none, .method = method};
                const auto launches = RowBackend::launches();
                r.launch = launches[word % launches.size()];
                if (word / 16 % 2) r.stride = n + 3;
                const bool in_place = word / 32 % 2;
                if (word / 64 % 2) r.upstream_stride = n + 1;
                if (in_place) r.output_stride = r.upstream_stride;
                const RowVariant v{.scale = word / 128 % 2 == 1};
                auto data = row_data<T>(r, v, word);
                if (word / 256 % 2) mend(data, r);
                INFO(shown(r, v) << " in place " << in_place);
                RowRequest alone = r;
                alone.stride = alone.upstream_stride = alone.output_stride = 0;
                const auto check = [&]<class Out>(Out) {
                    if (method != Method::exact && !std::is_same_v<Out, V>) return;
                    const bool over = in_place && std::is_same_v<Out, T>;
                    RowRequest with = r;
                    if (!over) with.output_stride = 0;
                    std::vector<Out> dx;
                    require_columns(run_of_columns<Out>(with, data, static_cast<unsigned>(word / 512 % 5), over, dx),
                                    expected_of_columns<Out>(r, data));
                    const auto expected = RowBackend::template expected<Out>(alone, data).out;
                    require_same(RowResults<Out, V>{dx, {}, {}, {}}, RowResults<Out, V>{expected, {}, {}, {}});
                };
                for_outputs<T>(check);
            }
        }
    }
}

/// Columns whose terms lie near each other, but for one in one column; or which begin with −0.
TEMPLATE_TEST_CASE("row gradients: those of scale and shift by exact, of terms near each other and one that is not",
                   "[rows][gradients][sanitizer]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    const double far = std::is_same_v<T, double> ? 0x1p-200 : std::is_same_v<T, float16> ? 0x1p-14 : 0x1p-90;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const auto& [n, rows] : {std::pair<std::uint64_t, std::uint64_t>{1, 9},
                                      {2, 16},
                                      {6, 17},
                                      {130, 63},
                                      {7, 300},
                                      {70, 520},
                                      {4, 9001}}) {
            for (int kind = 0; kind < 6; ++kind) {
                RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none, .method = Method::exact};
                if (kind % 3 == 1) r.stride = n + 1;
                if (kind % 3 == 2) r.upstream_stride = n + 3;
                auto data = row_data<T>(r, {}, n + rows);
                const auto near = [&](std::uint64_t i) {
                    const std::uint64_t word = accuracy::hash(i, n);
                    return number<T>((word % 2 ? 1.0 : -1.0) * (1 + static_cast<double>(word / 2 % 128) / 128));
                };
                for (std::uint64_t i = 0; i < rows * n; ++i) {
                    data.x[i] = near(i);
                    data.upstream[i] = near(i + rows * n);
                }
                for (std::uint64_t i = 0; i < rows; ++i) {
                    if (!data.mean.empty()) data.mean[i] = V(4);
                    data.rstd[i] = V(1 + static_cast<double>(i % 8) / 8);
                }
                const std::uint64_t one = rows / 2 * n + n / 2;
                if (kind == 1) data.upstream[one] = number<T>(far);
                if (kind == 2) data.upstream[n / 3] = number<T>(-0.0);
                if (kind == 3) data.x[one] = quiet_nan<T>;
                if (kind == 4) data.rstd[rows - 1] = V(far);
                if (kind == 5) std::fill(data.upstream.begin(), data.upstream.end(), number<T>(-0.0));
                INFO(shown(r, {}) << " kind " << kind);
                for_outputs<T>([&]<class Out>(Out) {
                    std::vector<Out> dx;
                    auto expected = expected_of_columns<Out>(r, data);
                    require_columns(run_of_columns<Out>(r, data, kind == 4 ? 1 : 0, false, dx), expected);
                    expected[1].clear(); // that of shift is not wanted
                    require_columns(run_of_columns<Out>(r, data, 0, false, dx, false), expected);
                });
            }
        }
    }
}

TEMPLATE_TEST_CASE("row gradients: those of scale are within their bounds", "[rows][gradients][error]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const std::uint64_t rows : {1, 7, 3000}) {
            RowRequest r{.op = op, .n = 9, .rows = rows, .reduction = Reduction::none};
            auto data = row_data<T>(r, {}, rows);
            mend(data, r);
            const auto mean = doubles(data.mean), rstd = doubles(data.rstd);
            for (const Method method : batch_methods) {
                r.method = method;
                std::vector<V> dx;
                const auto got = run_of_columns<V>(r, data, 0, false, dx).at(0);
                Within within;
                for (std::uint64_t j = 0; j < r.n; ++j) {
                    std::vector<double> x, upstream;
                    for (std::uint64_t i = 0; i < rows; ++i) {
                        x.push_back(static_cast<double>(fp::widen(data.x[i * r.n + j])));
                        upstream.push_back(static_cast<double>(fp::widen(data.upstream[i * r.n + j])));
                    }
                    const accuracy::GradColumn column{x, upstream, mean, rstd};
                    INFO(shown(r, {}) << " column " << j);
                    within(accuracy::scale_gradient_error(column, static_cast<double>(got.at(j))),
                           accuracy::scale_gradient_bound(method, dtype_of<T>, dtype_of<V>, column));
                }
                REQUIRE(within.checked() == r.n);
            }
        }
    }
}

TEMPLATE_TEST_CASE("row gradients: by exact, those of scale and shift do not know the order of the rows",
                   "[rows][gradients]", bfloat16, float) {
    using T = TestType;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        const RowRequest r{.op = op, .n = 70, .rows = 300, .reduction = Reduction::none};
        auto data = row_data<T>(r, {.scale = true}, 5);
        mend(data, r);
        std::vector<T> dx;
        const auto whole = run_of_columns<T>(r, data, 0, false, dx);
        RowData<T> turned = data;
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            const std::uint64_t from = r.rows - 1 - i;
            for (std::uint64_t j = 0; j < r.n; ++j) {
                turned.x[i * r.n + j] = data.x[from * r.n + j];
                turned.upstream[i * r.n + j] = data.upstream[from * r.n + j];
            }
            if (!data.mean.empty()) turned.mean[i] = data.mean[from];
            turned.rstd[i] = data.rstd[from];
        }
        require_columns(run_of_columns<T>(r, turned, 0, false, dx), whole);
    }
}

} // namespace detreduce::proptests
