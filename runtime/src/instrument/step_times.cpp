// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/step_times.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "instrument/settings.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"

namespace lacuna::rt::instrument {
namespace {

constexpr std::int64_t kLosses = 32;  ///< read of a run, spread over its steps
constexpr std::int64_t kWritesEveryNs = 1'000'000'000;

std::int64_t nowNs() {
  // CLOCK_MONOTONIC on Linux.
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t numberIn(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::max<std::int64_t>(0, std::strtoll(text, nullptr, 10)) : 0;
}

class StepTimes {
 public:
  static StepTimes& ofProcess() {
    static auto* const times = new StepTimes;  // the program may end within a step
    return *times;
  }
  [[nodiscard]] bool wanted() const { return !path_.empty(); }

  void begin() { beganNs_ = nowNs(); }
  void end() {
    if (!isOurs()) return;
    // The queue is behind the program; where the time begins and ends to count, it has to catch up.
    if ((most_ > 0 && ended_ + 1 >= most_) || ended_ + 1 == warmUp_) synchronize();
    const std::int64_t now = nowNs();
    lines_ += std::to_string(getpid()) + " step " + std::to_string(ended_) + " " +
              std::to_string(beganNs_) + " " + std::to_string(now) + "\n";
    ++ended_;
    if (most_ > 0 && ended_ >= most_) {
      finish("steps");
      finishSettings();
      std::fflush(nullptr);
      _exit(0);
    }
    if (now - writtenNs_ > kWritesEveryNs) write();
  }
  void keepLoss(const Tensor& root) {
    const bool isNext =
        ended_ % stride_ == 0 && (losses_.empty() || losses_.back().first != ended_);
    if (!isOurs() || !isNext || losses_.size() >= 4 * kLosses || root.numel() != 1) return;
    const NoGrad noGrad;
    losses_.emplace_back(ended_, root.detach().clone());
  }
  void finish(const char* reason) {
    if (isClosed_ || getpid() != process_ || ended_ == 0) return;
    isClosed_ = true;
    const std::string own = std::to_string(getpid());
    for (const auto& [index, loss] : losses_) {
      char value[32];
      std::snprintf(value, sizeof value, "%.9g", loss.item());
      lines_ += own + " loss " + std::to_string(index) + " " + value + "\n";
    }
    lines_ += own + " memory " + std::to_string(memoryStats().peakActive) + "\n" + own + " end " +
              reason + "\n";
    write();
  }

 private:
  StepTimes()
      : path_(std::getenv("LACUNA_STEP_TIMES") != nullptr ? std::getenv("LACUNA_STEP_TIMES") : ""),
        most_(numberIn("LACUNA_STEPS")),
        warmUp_(numberIn("LACUNA_WARM_UP_STEPS")),
        stride_(std::max<std::int64_t>(1, most_ / kLosses)),
        writtenNs_(nowNs()) {
    if (wanted()) std::atexit([] { ofProcess().finish("program"); });
  }
  /// True when the process and the thread are those that train.
  [[nodiscard]] bool isOurs() const {
    return getpid() == process_ && std::this_thread::get_id() == thread_;
  }
  void write() {
    writtenNs_ = nowNs();
    if (std::FILE* file = std::fopen(path_.c_str(), "ae"); file != nullptr) {
      std::fwrite(lines_.data(), 1, lines_.size(), file);
      std::fclose(file);
    }
    lines_.clear();
  }

  std::string path_;
  std::int64_t most_, warmUp_, stride_;
  pid_t process_ = getpid();
  std::thread::id thread_ = std::this_thread::get_id();
  std::int64_t beganNs_ = 0, writtenNs_ = 0, ended_ = 0;
  std::string lines_;
  std::vector<std::pair<std::int64_t, Tensor>>
      losses_;  ///< read at the end: reading waits for the queue
  bool isClosed_ = false;
};

}  // namespace

bool timesSteps() {
  static const bool wanted = StepTimes::ofProcess().wanted();
  return wanted;
}

void stepBegins() {
  StepTimes::ofProcess().begin();
}

void stepEnds() {
  StepTimes::ofProcess().end();
}

void backwardBegins(const Tensor& root) {
  StepTimes::ofProcess().keepLoss(root);
}

}  // namespace lacuna::rt::instrument
