// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lacuna/collector/standby.h"
#include "standby/job_files.h"
#include "support/temp_dir.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;
using standby::Rank;
using standby::Request;

/// Longer than the time between two reads of the process that triggers, so it sees each state.
constexpr std::chrono::milliseconds kSeen{200};

/// Answers a trigger as the keepers of a job would. In each attempt a rank records or misses the
/// first step, by a plan.
class PlayedJob {
 public:
  /// `misses[attempt]` lists the ranks that are too late for the first step of that attempt.
  PlayedJob(fs::path folder, int ranks, std::vector<std::vector<int>> misses)
      : folder_(std::move(folder)), misses_(std::move(misses)) {
    (void)standby::write(folder_, Request()).ok();
    for (int number = 0; number < ranks; ++number) {
      Rank& rank = ranks_.emplace_back();
      rank.rank = number;
      rank.world = ranks;
      rank.process = rank.keeper = standby::ownAddress();
      show(rank, Rank::State::Standby);
    }
    keeper_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) check();
    });
  }

  [[nodiscard]] std::size_t attempts() const { return attempt_; }

 private:
  void show(Rank& rank, Rank::State state) {
    rank.state = state;
    ++rank.beats;
    (void)standby::write(folder_, rank).ok();
  }

  void check() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto request = standby::readRequest(folder_);
    if (!request || request->phase == Request::Phase::None) return;
    const bool fresh = request->token != ranks_[0].token;
    if (request->phase == Request::Phase::Ask && fresh) {
      for (Rank& rank : ranks_) {
        if (rank.token == request->instead && !rank.file.empty()) fs::remove(rank.file);
        rank.token = request->token;
        rank.file.clear();
        show(rank, Rank::State::Ready);
      }
    } else if (request->phase == Request::Phase::Go && ranks_[0].state == Rank::State::Ready) {
      record(*request);
    }
  }

  /// The ranks are armed at once. Only at their next step do they see that the first one has
  /// passed.
  void record(const Request& request) {
    for (Rank& rank : ranks_) show(rank, Rank::State::Armed);
    std::this_thread::sleep_for(kSeen);
    for (Rank& rank : ranks_)
      show(rank, isLate(rank) ? Rank::State::Missed : Rank::State::Recording);
    std::this_thread::sleep_for(kSeen);
    for (Rank& rank : ranks_) {
      if (isLate(rank)) continue;
      rank.file = folder_ / standby::captureName(request.number, rank.rank);
      std::ofstream(rank.file) << "recorded";
      show(rank, Rank::State::Finished);
    }
    ++attempt_;
  }

  [[nodiscard]] bool isLate(const Rank& rank) const {
    return attempt_ < misses_.size() &&
           std::ranges::find(misses_[attempt_], rank.rank) != misses_[attempt_].end();
  }

  fs::path folder_;
  std::vector<std::vector<int>> misses_;
  std::vector<Rank> ranks_;
  std::atomic<std::size_t> attempt_ = 0;
  std::jthread keeper_;
};

class TriggerJobTest : public testing::Test {
 protected:
  prof::Result<std::vector<fs::path>> triggers(std::int64_t step = -1) {
    JobTrigger trigger;
    trigger.job = folder_.path();
    trigger.step = step;
    trigger.steps = 4;
    return triggerJob(trigger);
  }
  std::vector<std::string> captures() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".lcn") names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  test::TempDir folder_;
};

TEST_F(TriggerJobTest, AnswersWithTheFileOfEachRank) {
  const PlayedJob job(folder_.path(), 2, {});
  const auto files = triggers();
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(*files, (std::vector<fs::path>{folder_ / "capture-1.rank0.lcn",
                                           folder_ / "capture-1.rank1.lcn"}));
}

TEST_F(TriggerJobTest, TriesALaterStepWhereARankMissedTheFirstAndAnotherDidNot) {
  const PlayedJob job(folder_.path(), 2, {{1}, {0, 1}});
  const auto files = triggers();
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(job.attempts(), 3);
  EXPECT_EQ(captures().size(), 2) << "each keeper learns that its recording is not wanted";
  EXPECT_TRUE(fs::exists((*files)[0]) && fs::exists((*files)[1]));
}

TEST_F(TriggerJobTest, GivesUpWhereARankMissesEachStep) {
  const PlayedJob job(folder_.path(), 2, {{1}, {1}, {1}});
  const auto files = triggers();
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message.find("has passed: rank 1"), std::string::npos)
      << files.error().message;
  EXPECT_EQ(job.attempts(), 3);
}

TEST_F(TriggerJobTest, DoesNotReplaceAStepThatTheUserChose) {
  const PlayedJob job(folder_.path(), 2, {{1}});
  const auto files = triggers(500);
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message.find("step 500 has passed: rank 1"), std::string::npos)
      << files.error().message;
  EXPECT_EQ(job.attempts(), 1);
  EXPECT_EQ(captures(), std::vector<std::string>{"capture-1.rank0.lcn"})
      << "the other rank's recording is kept";
}

}  // namespace
}  // namespace lacuna::collector
