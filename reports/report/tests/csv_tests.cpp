#include <support/catch.hpp>

#include <algorithm>

#include "read_csv.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "text.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {
std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}
} // namespace

TEST_CASE("text that a spreadsheet would run gets an apostrophe, and numbers never", "[report]") {
    for (const char* text :
         {"=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "\n=1", "--1", "+-1", "-", "'=x", "''@", "'-1"}) {
        const std::string escaped = csv_escaped(text);
        INFO(escaped);
        CHECK((escaped.starts_with(std::string("'") + text) || escaped.starts_with(std::string("\"'") + text)));
        CHECK(csv_unescaped(std::string("'") + text) == text);
    }
    for (const char* text :
         {"-1", "-1.5e300", "-inf", "+3", "1=2", "a@b", "", "'", "'a", "-0", "-1e999", "nan", "-nan"}) {
        CHECK(csv_escaped(text) == text);
        CHECK(csv_unescaped(text) == text);
    }
    Results results = sample();
    results.edges[0].candidate = "=HYPERLINK(\"http://x\")";
    results.edges[0].result = "-1e+300";
    CHECK(
        edges_csv(results).find("1e300 + 1e300,f64,2,2e+300,\"'=HYPERLINK(\"\"http://x\"\")\",cuda:0,-1e+300,true\n") !=
        std::string::npos);
    results.cost[0].candidate = "=read";
    results.cost[1].variant = "'@x";
    const auto back = cost_from_csv(cost_csv(results), "test");
    CHECK(back[0].candidate == "=read");
    CHECK(back[1].variant == "'@x");
}

TEST_CASE("CSV files have a header and one line a row, with empty fields for what is missing", "[report]") {
    const Results results = sample();
    const std::string error = error_csv(results), determinism = determinism_csv(results), cost = cost_csv(results);
    CHECK(error.starts_with("op,shape,dtype,output,method,device,family,n,trials,correctly_rounded,error_ulp,relative_"
                            "error,bound,error_over_bound,condition\n"));
    CHECK(lines(error) == 1 + results.error.size());
    CHECK(lines(edges_csv(results)) == 1 + results.edges.size());
    CHECK(edges_csv(results).find("1e300 + 1e300,f64,2,2e+300,serial,cpu,inf,false\n") != std::string::npos);
    CHECK(lines(determinism) == 1 + results.determinism.size());
    CHECK(lines(cost) == 1 + results.cost.size());
    CHECK(lines(data_csv(results)) == 1 + results.data.size());
    CHECK(data_csv(results).find("a.npy,f32,3,0123456789abcdef,-1,2,1,0,0,0.5,8\n") != std::string::npos);
    CHECK(lines(data_sums_csv(results)) == 1 + results.data_sums.size());
    CHECK(data_sums_csv(results).find("a.npy,sum,flat,f32,f32,serial,cpu,0.75,0x3f400000,false,4000000,0.5,2,0.25\n") !=
          std::string::npos);
    CHECK(reference_csv(results).find("sum,flat,f32,f32,exact,cuda:0,normal,1000,1,0xc19f63e2\n") != std::string::npos);
    CHECK(error.find("sum,flat,f32,f32,tree,cuda:0,alternating,1024,3,3,0,inf,inf,0,inf\n") != std::string::npos);
    CHECK(determinism.find("sum,flat,f32,f32,tree,cuda:0,grids,,normal,1048613,true,,,,\n") != std::string::npos);
    CHECK(determinism.find(",100,37,12,0x3f800001:60 0x3f800000:5\n") != std::string::npos);
    CHECK(cost.find("f32,tree,last_block,cuda:0,normal,65536,262144,50,,,,\n") != std::string::npos);
    CHECK(cost.find("f32,read,,cuda:0,normal,32768,131072,50,5.25e-06,0.01,24.966,1\n") != std::string::npos);
}
