// What is said about the time that remains.
#include <support/catch.hpp>

#include "busy.hpp"
#include "progress.hpp"

using namespace detreduce::report;

TEST_CASE("the estimate goes by the parts that are done", "[report]") {
    Progress progress(Progress::Shown::nothing);
    CHECK(progress.done() == 0);
    progress.expect({30, 10, 60});
    progress.begin("first", 3);
    CHECK(progress.done() == 0);
    progress.step("a");
    CHECK(progress.done() == 0); // under way
    progress.step("b");
    CHECK(progress.done() == 0.1);
    CHECK(progress.position() == "first, b");
    progress.begin("second", 1);
    CHECK(progress.done() == 0.3);
    CHECK(progress.position() == "second");
    progress.begin("third", 2);
    progress.step("a");
    progress.step("b");
    progress.step("more than were announced");
    CHECK(progress.done() == 1);
    progress.expect({1});
    progress.begin("of unequal steps", 2, 4);
    progress.step("long", 3);
    progress.step("short", 1);
    CHECK(progress.done() == 0.75);
}

TEST_CASE("time left is said when something is known about it", "[report]") {
    CHECK(time_left(0, 10).empty());
    CHECK(time_left(0.5, 0.1).empty());
    CHECK(time_left(0.5, 10) == "10 s");
    CHECK(time_left(0.25, 30) == "90 s");
    CHECK(time_left(0.1, 60) == "9 min");
    CHECK(time_left(1, 60) == "1 s");
}

TEST_CASE("a machine is as busy as its processors that are ours", "[report]") {
    const auto all = [](int) { return true; };
    const auto first = [](int number) { return number == 0; };
    const std::string before =
        "cpu  900 0 0 900 0 0 0 0 0 0\ncpu0 100 10 0 500 0 0 0 0 7 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nintr 7\n";
    const std::string after =
        "cpu  950 9 9 999 9 9 9 9 9 9\ncpu0 110 10 0 520 0 0 0 10 99 0\ncpu1 0 0 0 30 10 0 0 0 0 0\nintr 9\n";
    CHECK(busy_share(before, after, first) == 0.5); // 20 of 40: user and steal
    CHECK(busy_share(before, after, all) == 0.25);
    CHECK_FALSE(busy_share(before, before, all).has_value());
    CHECK_FALSE(busy_share("", after, all).has_value());
    CHECK_FALSE(busy_share(before, "nothing of the kind", all).has_value());
}
