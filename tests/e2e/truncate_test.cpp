// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

/// Programs that shorten what they share with the supervisor.
class TruncateTest : public RunTest {
 protected:
  /// A script that starts a recorded program, empties these files once the supervisor has them
  /// mapped, and ends with 7.
  int shorten(const std::string& options, const std::string& files) {
    std::ofstream(folder_ / "program.sh")
        << program("ending_program") << " wait & "
        << untilThere("out.lcn.recording/checkpoint", "$!") << "sleep 0.3; for f in " << files
        << "; do [ -f $f ] && : >$f; done; sleep 0.3; kill -9 $!; exit 7\n";
    return lacuna(options + " -o out.lcn -- sh program.sh");
  }
  bool logs(const std::string& words) {
    const prof::Reader reader = trace();
    const auto texts = reader.column<&prof::LogLine::text>();
    return std::any_of(texts->begin(), texts->end(), [&](prof::StringId id) {
      return reader.text(id).find(words) != std::string_view::npos;
    });
  }
};

TEST_F(TruncateTest, TheRunEndsAsTheProgramDoesAndTheTraceRecordsIt) {
  EXPECT_EQ(WEXITSTATUS(shorten("", "out.lcn.recording/*.lcr out.lcn.recording/shm/*.lcr")), 7);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000) << "what was read before is there";
  EXPECT_TRUE(logs("was shortened while it was read"));
  expectNothingLeft();
}

TEST_F(TruncateTest, ThePageOfSwitchesDoesNotEndTheRun) {
  EXPECT_EQ(WEXITSTATUS(shorten("--trace nvtx", "out.lcn.recording/control")), 7);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

TEST_F(TruncateTest, TheRingOfAProgramsSamplesDoesNotEndTheRun) {
  // The shell's own stays as it is: the shell writes there.
  EXPECT_EQ(WEXITSTATUS(shorten("--trace samples,nvtx --sampler timer",
                                "out.lcn.recording/shm/stacks-$!-*")),
            7);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

}  // namespace
}  // namespace lacuna
