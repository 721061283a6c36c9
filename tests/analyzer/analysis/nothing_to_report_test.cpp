// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/nothing_to_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

constexpr const char* kNeeded =
    "ranges, calls, device work or allocations, so there is nothing to report";

std::string reasonOf(const std::filesystem::path& path, const std::vector<std::string>& damage) {
  StoreBuilder builder;
  builder.setPath(path);
  for (const std::string& text : damage) builder.addWarning(text);
  return nothingToReport(*builder.build());
}

/// A file of that content, named trace.lcn.
std::filesystem::path written(const test::TempDir& folder, std::string_view content) {
  const auto path = folder / "trace.lcn";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(NothingToReport, ACompleteTraceIsToBeRecordedAnew) {
  EXPECT_EQ(reasonOf("t.lcn", {}),
            std::string("the trace holds no ") + kNeeded + "; record with `lacuna run -- PROGRAM`");
}

TEST(NothingToReport, OfManyDamagesThreeAreNamed) {
  const auto reason = [](std::size_t count) {
    std::vector<std::string> damage;
    for (std::size_t i = 1; i <= count; ++i) damage.push_back("damage " + std::to_string(i));
    return reasonOf("/nonexistent/t.json", damage);
  };
  const std::string head = std::string("what is readable of the trace holds no ") + kNeeded;
  const std::string remedy = "; write it again, or record with `lacuna run -- PROGRAM`";
  EXPECT_EQ(reason(1), head + "; damage 1" + remedy);
  EXPECT_EQ(reason(3), head + "; damage 1; damage 2; damage 3" + remedy);
  EXPECT_EQ(reason(4), head + "; damage 1; damage 2; damage 3; and 1 more" + remedy);
  EXPECT_EQ(reason(12), head + "; damage 1; damage 2; damage 3; and 9 more" + remedy);
}

TEST(NothingToReport, DamageIsOneLineWithoutControlCharacters) {
  const std::string reason = reasonOf("/nonexistent/t.json", {"a\nb\x1b[2J"});
  for (const char unseen : {'\n', '\x1b'})
    EXPECT_EQ(reason.find(unseen), std::string::npos) << reason;
}

TEST(NothingToReport, ALacunaTraceCanBeRecovered) {
  const test::TempDir folder;
  const auto path = written(folder, "\x89LCN\r\n\x1a\n and what is left of it");
  const std::string name = path.string();
  EXPECT_THAT(reasonOf(path, {"damage"}),
              testing::EndsWith("; damage; `lacuna recover " + name +
                                "` makes a whole file of what is readable; for more, record again "
                                "with `lacuna run -- PROGRAM`"));
  std::filesystem::create_directory(folder / "trace.lcn.recording");
  EXPECT_THAT(reasonOf(path, {"damage"}),
              testing::EndsWith("; damage; `lacuna recover " + name +
                                ".recording` makes the trace of what the recording left"));
}

TEST(NothingToReport, WhatIsNoLacunaTraceIsToBeWrittenAgain) {
  const test::TempDir folder;
  const auto path = written(folder, "{\"traceEvents\": [");
  std::filesystem::create_directory(folder / "trace.lcn.recording");
  EXPECT_THAT(reasonOf(path, {"damage"}),
              testing::EndsWith("; damage; write it again, or record with `lacuna run -- PROGRAM`"))
      << "the ending does not count";
}

TEST(NothingToReport, IsWhyAnAnalysisFails) {
  StoreBuilder builder;
  builder.setPath("t.lcn");
  builder.append(prof::Thread{.id = prof::ThreadId(1)});
  builder.append(prof::Mark{.timeNs = 5, .thread = prof::ThreadId(1)});
  const auto analysis = analyse(builder.build());
  ASSERT_FALSE(analysis);
  EXPECT_THAT(analysis.error().message,
              testing::StartsWith(std::string("t.lcn: the trace holds no ") + kNeeded));
}

}  // namespace
}  // namespace lacuna::analyzer
