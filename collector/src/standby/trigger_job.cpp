// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "lacuna/collector/standby.h"
#include "standby/job_files.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;
using standby::Rank;
using standby::Request;

constexpr std::chrono::milliseconds kPollEvery{50};
/// Without a sign of life for so long, a rank is given up.
constexpr std::int64_t kSilenceNs = 15'000'000'000;
/// A step that is so far away is reached by no rank before all know of it.
constexpr std::int64_t kReachNs = 1'000'000'000;
/// Where no rank has shown yet how long a step takes.
constexpr std::int64_t kUsualStepNs = 10'000'000;
constexpr int kAttempts = 3;

bool isOver(const Rank& rank) {
  return rank.state == Rank::State::Finished || rank.state == Rank::State::Failed ||
         rank.state == Rank::State::Missed;
}

/// Whether the rank was in time for the first step, or will never be.
bool isSettled(const Rank& rank) {
  return rank.state == Rank::State::Recording || isOver(rank);
}

std::string nameOf(const Rank& rank) {
  return fmt::format("rank {} ({})", rank.rank, rank.process.text());
}

/// "rank 2" or "ranks 1, 2 and 5"
std::string ranksText(const std::vector<std::int32_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "),
                     ranks.back());
}

/// Ranks that are not one job, or not the whole of it.
prof::Status checkRanks(const std::vector<Rank>& ranks) {
  const auto twice = std::ranges::adjacent_find(ranks, {}, &Rank::rank);
  if (twice != ranks.end()) {
    return prof::Error{
        fmt::format("ranks disagree: {} and {} both count as rank {}. Remedy: start each process "
                    "with its number in RANK, or give each job a folder of its own",
                    twice->process.text(), std::next(twice)->process.text(), twice->rank)};
  }
  const auto other =
      std::ranges::find_if(ranks, [&](const Rank& rank) { return rank.world != ranks[0].world; });
  if (other != ranks.end()) {
    return prof::Error{
        fmt::format("ranks disagree: {} belongs to a job of {}, {} to one of {}. Remedy: give each "
                    "job a folder of its own",
                    nameOf(ranks[0]), ranks[0].world, nameOf(*other), other->world)};
  }
  std::vector<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < ranks[0].world; ++rank) {
    if (std::ranges::find(ranks, rank, &Rank::rank) == ranks.end()) missing.push_back(rank);
  }
  if (missing.empty()) return {};
  return prof::Error{
      fmt::format("{} of {} {} not on standby. Remedy: trigger again once {} ended a first step; "
                  "start every rank with lacuna run --standby and the same folder",
                  ranksText(missing), ranks[0].world, missing.size() == 1 ? "is" : "are",
                  missing.size() == 1 ? "it has" : "they have")};
}

/// One trigger from its first check to the files.
class Triggering {
 public:
  explicit Triggering(const JobTrigger& wanted) : wanted_(wanted) {}

  prof::Result<std::vector<fs::path>> run() {
    std::error_code error;
    if (!fs::exists(wanted_.job / standby::kRequestFile, error)) return noJob();
    auto lock = standby::TriggerLock::take(wanted_.job);
    if (!lock) return lock.error();
    if (auto status = findRanks(); !status) return status.error();
    prof::Status status = capture();
    if (!status) status = stopAll(status);
    withdraw();
    if (!status) return status.error();
    std::vector<fs::path> files;
    for (const Followed& one : ranks_) files.emplace_back(one.rank.file);
    return files;
  }

 private:
  struct Followed {
    Rank rank;
    std::int64_t heardNs = 0;
  };

  prof::Error noJob() const {
    return prof::Error{fmt::format(
        "there is no job in {}. Remedy: start it with: lacuna run --standby {} -- PROGRAM",
        wanted_.job.string(), wanted_.job.string())};
  }

  prof::Status findRanks() {
    std::vector<Rank> ranks = standby::readRanks(wanted_.job);
    const std::size_t all = ranks.size();
    std::erase_if(ranks, [&](const Rank& rank) {
      const bool gone = standby::hasEnded(rank.keeper);
      if (gone) standby::removeRank(wanted_.job, rank);
      return gone;
    });
    if (wanted_.process != 0) {
      const standby::Address self = standby::ownAddress();
      std::erase_if(ranks, [&](const Rank& rank) {
        return rank.process.pid != wanted_.process || rank.process.boot != self.boot;
      });
    }
    if (ranks.empty()) {
      return prof::Error{
          fmt::format("no process of the job in {} {}. Remedy: {}", wanted_.job.string(),
                      all != 0 ? "runs any more" : "has ended a step yet",
                      all != 0 ? "start it again"
                               : "wait until training begins; a step is an optimizer's step of "
                                 "PyTorch, or an NVTX range of the name that --step-range gives")};
    }
    if (wanted_.process == 0) {
      if (auto status = checkRanks(ranks); !status) return status;
    }
    for (Rank& rank : ranks) ranks_.push_back({std::move(rank), nowNs()});
    return {};
  }

  /// Where the first step was the wrong one because a rank was faster, a later one is tried.
  prof::Status capture() {
    std::int64_t reachNs = kReachNs;
    for (int attempt = 1;; ++attempt, reachNs *= 4) {
      if (auto status = ask(); !status) return status;
      if (auto status = go(reachNs); !status) return status;
      if (auto status = follow(isSettled); !status) return status;
      const auto missed = std::ranges::find(ranks_, Rank::State::Missed,
                                            [](const Followed& one) { return one.rank.state; });
      if (missed == ranks_.end()) break;
      if (wanted_.step >= 0 || attempt == kAttempts) return passed(missed->rank);
      if (auto status = stopAll({}); !status) return status;
      request_.instead = request_.token;
    }
    return follow([](const Rank& rank) { return rank.state == Rank::State::Finished; });
  }

  prof::Status ask() {
    request_.phase = Request::Phase::Ask;
    request_.number = standby::nextCapture(wanted_.job);
    request_.token = fmt::format("{}-{}-{}", standby::ownAddress().host, getpid(), nowNs());
    request_.steps = wanted_.steps;
    if (auto status = standby::write(wanted_.job, request_); !status) return status;
    return follow([](const Rank& rank) { return rank.state != Rank::State::Standby; });
  }

  prof::Status go(std::int64_t reachNs) {
    request_.from = wanted_.step;
    for (const Followed& one : ranks_) {
      const Rank& rank = one.rank;
      if (wanted_.step >= 0 && rank.step >= wanted_.step) return passed(rank);
      const std::int64_t stepNs = rank.stepNs > 0 ? rank.stepNs : kUsualStepNs;
      if (wanted_.step < 0)
        request_.from = std::max(request_.from, rank.step + 1 + reachNs / stepNs);
    }
    reportNews(fmt::format("{} will record steps {} to {}", countText(), request_.from,
                           request_.from + request_.steps - 1));
    request_.phase = Request::Phase::Go;
    return standby::write(wanted_.job, request_);
  }

  std::string countText() const {
    return ranks_.size() == 1 ? nameOf(ranks_[0].rank) : fmt::format("{} ranks", ranks_.size());
  }

  prof::Error passed(const Rank& rank) const {
    return prof::Error{fmt::format(
        "step {} has passed: {} is at step {}. Remedy: {}", request_.from, nameOf(rank), rank.step,
        wanted_.step >= 0 ? "give a later --step, or none for the first that all ranks can reach"
                          : "give a --step that is far enough away")};
  }

  /// Until all ranks are so. Fails where one fails, ends or falls silent.
  template <class IsSo>
  prof::Status follow(IsSo&& isSo) {
    for (;;) {
      bool all = true;
      for (Followed& one : ranks_) {
        checkOne(one);
        if (one.rank.state == Rank::State::Failed && answers(one)) {
          return prof::Error{fmt::format("{}: {}", nameOf(one.rank), one.rank.reason)};
        }
        if (auto status = checkLife(one); !status) return status;
        all = all && answers(one) && isSo(one.rank);
      }
      if (all) return {};
      if (wanted_.interrupted && wanted_.interrupted()) return prof::Error{"interrupted"};
      std::this_thread::sleep_for(kPollEvery);
    }
  }

  bool answers(const Followed& one) const { return one.rank.token == request_.token; }

  void checkOne(Followed& one) {
    auto now = standby::readRank(standby::fileOf(wanted_.job, one.rank));
    if (!now) return;
    if (now->beats != one.rank.beats) one.heardNs = nowNs();
    const bool changed = now->state != one.rank.state;
    one.rank = *std::move(now);
    if (!changed || !answers(one)) return;
    if (one.rank.state == Rank::State::Recording)
      reportNews(fmt::format("{} has begun", nameOf(one.rank)));
    if (one.rank.state == Rank::State::Finished)
      reportNews(fmt::format("{} has finished", nameOf(one.rank)));
  }

  prof::Status checkLife(const Followed& one) {
    if (isOver(one.rank) && answers(one)) return {};
    if (standby::hasEnded(one.rank.keeper)) {
      // The keeper's last word may have come since the check.
      const auto last = standby::readRank(standby::fileOf(wanted_.job, one.rank));
      if (last && isOver(*last) && last->token == request_.token) return {};
      return prof::Error{fmt::format("{} has ended at step {}", nameOf(one.rank), one.rank.step)};
    }
    if (nowNs() - one.heardNs < kSilenceNs) return {};
    return prof::Error{
        fmt::format("{} has not answered for {} s. Remedy: look whether that process still runs",
                    nameOf(one.rank), kSilenceNs / 1'000'000'000)};
  }

  /// Ends what the ranks record. Answers `why` with the files that are there, or success without a
  /// reason.
  prof::Status stopAll(const prof::Status& why) {
    request_.phase = Request::Phase::Stop;
    if (auto status = standby::write(wanted_.job, request_); !status) return why ? status : why;
    for (Followed& one : ranks_) one.heardNs = nowNs();
    for (bool all = false; !all;) {
      all = true;
      for (Followed& one : ranks_) {
        checkOne(one);
        const bool over = !answers(one) || isOver(one.rank) || !checkLife(one);
        all = all && over;
      }
      if (!all) std::this_thread::sleep_for(kPollEvery);
    }
    if (why) return {};
    std::string files;
    for (const Followed& one : ranks_) {
      if (answers(one) && !one.rank.file.empty())
        files += fmt::format("{} {}", files.empty() ? "" : ",", one.rank.file);
    }
    if (files.empty()) return prof::Error{why.error().message + ". Nothing was recorded."};
    return prof::Error{fmt::format("{}. The other ranks were stopped; recorded so far:{}",
                                   why.error().message, files)};
  }

  /// The ranks forget the request.
  void withdraw() {
    request_.phase = Request::Phase::None;
    (void)standby::write(wanted_.job, request_).ok();
    for (const Followed& one : ranks_) {
      if (standby::hasEnded(one.rank.keeper)) standby::removeRank(wanted_.job, one.rank);
    }
  }

  void reportNews(const std::string& news) const {
    if (wanted_.onNews) wanted_.onNews(news);
  }

  const JobTrigger& wanted_;
  Request request_;
  std::vector<Followed> ranks_;
};

}  // namespace

prof::Result<std::vector<fs::path>> triggerJob(const JobTrigger& trigger) {
  return Triggering(trigger).run();
}

}  // namespace lacuna::collector
