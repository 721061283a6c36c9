// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "store/watched_store.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

/// A run with something in every part of an analysis.
std::shared_ptr<const Store> run() {
  return test::makeRun({.ranks = 2,
                        .batchNs = 20'000'000,
                        .workers = 0,
                        .leakBytes = 1 << 20,
                        .collectiveNs = 50'000});
}

/// The reports of an analysis that the n-th answer calls off.
struct SeenProgress {
  std::vector<double> shares;
  prof::Result<Analysis> analysis;
};
SeenProgress analysedWithProgress(const std::shared_ptr<const Store>& store,
                                  std::size_t n = SIZE_MAX) {
  std::vector<double> shares;
  AnalysisOptions options;
  options.progress = [&](double share) {
    shares.push_back(share);
    return shares.size() < n;
  };
  auto analysis = analyse(store, options);
  return {std::move(shares), std::move(analysis)};
}

TEST(AnalysisProgress, GoesFromNothingToAllAndNeverBack) {
  const SeenProgress progress = analysedWithProgress(run());
  ASSERT_TRUE(progress.analysis);
  EXPECT_TRUE(std::is_sorted(progress.shares.begin(), progress.shares.end()));
  EXPECT_EQ(progress.shares.front(), 0);
  EXPECT_EQ(progress.shares.back(), 1);
}

TEST(AnalysisProgress, AtEveryQuestionTheAnalysisCanBeCalledOff) {
  const auto store = run();
  const std::size_t questions = analysedWithProgress(store).shares.size();
  ASSERT_GT(questions, 50U);
  for (std::size_t n = 1; n <= questions; n += n < 20 ? 1 : 7) {
    const SeenProgress progress = analysedWithProgress(store, n);
    ASSERT_FALSE(progress.analysis) << n;
    EXPECT_EQ(progress.analysis.error().message, "cancelled");
    EXPECT_EQ(progress.shares.size(), n) << "asked again";
  }
  EXPECT_FALSE(analysedWithProgress(store, questions).analysis);
}

TEST(AnalysisProgress, ChangesNothingInTheAnswer) {
  const auto store = run();
  const SeenProgress progress = analysedWithProgress(store);
  ASSERT_TRUE(progress.analysis);
  EXPECT_EQ(progress.analysis->store, store);
  EXPECT_FALSE(progress.analysis->options.progress);
  EXPECT_EQ(renderJson(*progress.analysis), renderJson(*analyse(store)));
}

TEST(AnalysisProgress, AFaultOfTheTraceIsReportedAsSuch) {
  const SeenProgress progress = analysedWithProgress(StoreBuilder().build());
  ASSERT_FALSE(progress.analysis);
  EXPECT_NE(progress.analysis.error().message, "cancelled");
}

std::shared_ptr<const Store> manyRanges(prof::TimeNs count) {
  StoreBuilder trace;
  for (prof::TimeNs n = 0; n < count; ++n)
    trace.append(prof::Range{
        .startNs = n, .durNs = 1, .thread = prof::ThreadId(1), .name = trace.intern("op")});
  return trace.build();
}

TEST(AnalysisProgress, LongTablesAreAskedAboutAgainAndAgain) {
  EXPECT_GT(analysedWithProgress(manyRanges(300'000)).shares.size(),
            analysedWithProgress(manyRanges(10)).shares.size() + 10);
}

TEST(WatchedStore, AScanReportsItsProgressAndCanBeStopped) {
  const auto store = manyRanges(300'000);
  std::vector<double> shares;
  bool wanted = true;
  const auto watched = watchScans(store, [&](double share) {
    shares.push_back(share);
    return wanted;
  });
  std::uint64_t rows = 0;
  const auto count = [&](std::uint64_t, auto start) {
    rows += start.size();
    wanted = rows < 100'000;
  };
  const prof::Status status = watched->scan<&prof::Range::startNs>({}, count);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cancelled");
  EXPECT_GE(rows, 100'000U);
  EXPECT_LT(rows, 300'000U);
  EXPECT_EQ(shares.front(), 0);
  EXPECT_NEAR(shares.back(), static_cast<double>(rows) / 300'000, 1e-9);
  EXPECT_EQ(watched->rows<prof::Range>(), store->rows<prof::Range>());
  EXPECT_EQ(watched->row<prof::Range>(7).startNs, 7);
  EXPECT_EQ(watched->text(watched->row<prof::Range>(7).name), "op");
}

}  // namespace
}  // namespace lacuna::analyzer
