// main() of every test program, for Catch2 v2 and v3.
#if DETREDUCE_CATCH2 >= 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <support/precondition.hpp>

namespace detreduce::proptests {
__attribute__((weak)) int precondition() {
    return 0;
}
} // namespace detreduce::proptests

int main(int argc, char** argv) {
    if (const int status = detreduce::proptests::precondition()) return status;
    Catch::Session session;
    session.configData().warnings = Catch::WarnAbout::NoAssertions; // a test that checked nothing has not passed
    return session.run(argc, argv);
}
