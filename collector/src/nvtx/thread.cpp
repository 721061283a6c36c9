// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lacuna/prof/trace.h"

namespace lacuna::collector::nvtx {
namespace {

class Recorder final : public prof::NvtxRowSink {
 public:
  explicit Recorder(const Payloads* payloads) : payloads_(payloads) {}

  prof::StringId join(std::string_view prefix, prof::StringId id) override {
    std::string words(prefix);
    for (std::size_t i = 0; payloads_ != nullptr && i < payloads_->textCount; ++i) {
      if (payloads_->texts[i]->text() == id.value) {
        words += payloads_->texts[i]->words();
        break;
      }
    }
    return prof::StringId(prof::name(words));
  }
  void take(const prof::Device& row) override { prof::record(row); }
  void take(const prof::Queue& row) override { prof::record(row); }
  void take(const prof::ApiCall& row) override { prof::record(row); }
  void take(const prof::Kernel& row) override { prof::record(row); }
  void take(const prof::Memcpy& row) override { prof::record(row); }
  void take(const prof::Memset& row) override { prof::record(row); }
  void take(const prof::Sync& row) override { prof::record(row); }
  void take(const prof::Allocation& row) override { prof::record(row); }
  void take(const prof::Environment& row) override { prof::record(row); }

 private:
  const Payloads* payloads_;
};

/// Runs of ranges that were not recorded, below the topmost one. Each switch of the recording while
/// ranges are open can add one.
struct Run {
  unsigned slot;
  std::uint16_t from, to;
};
std::vector<Run>& lowerRuns() {
  thread_local std::vector<Run> runs __attribute__((tls_model("initial-exec")));
  return runs;
}

bool hasRecorded() {
  const std::uint64_t* gate = lacunaOpenGate_();
  // A forked child that has recorded nothing finds its parent's thread, and a number of 0.
  return gate != nullptr && __atomic_load_n(gate, __ATOMIC_RELAXED) != 0 &&
         lacunaThread_.epoch != 0;
}

}  // namespace

constinit thread_local ThreadLevels threadLevels __attribute__((tls_model("initial-exec")));

void beginUnrecorded(unsigned slot, unsigned level) {
  Nesting& nesting = threadLevels.in[slot];
  if (nesting.recordedFrom != level || level == 0) {
    if (nesting.recordedFrom != 0)
      lowerRuns().push_back({slot, nesting.runFrom, nesting.recordedFrom});
    nesting.runFrom = static_cast<std::uint16_t>(level);
  }
  nesting.recordedFrom = static_cast<std::uint16_t>(level + 1);
  if (nesting.early == level && !hasRecorded()) ++nesting.early;
}

bool endUnrecorded(unsigned slot, unsigned level) {
  Nesting& nesting = threadLevels.in[slot];
  nesting.recordedFrom = static_cast<std::uint16_t>(level);
  if (level == nesting.runFrom) {
    std::vector<Run>& runs = lowerRuns();
    const auto lower =
        std::find_if(runs.rbegin(), runs.rend(), [&](const Run& run) { return run.slot == slot; });
    const bool any = lower != runs.rend();
    nesting.runFrom = any ? lower->from : 0;
    nesting.recordedFrom = any ? lower->to : 0;
    if (any) runs.erase(std::next(lower).base());
  }
  const bool early = level < nesting.early;
  if (early) nesting.early = static_cast<std::uint16_t>(level);
  return early;
}

void forgetOpenRanges() {
  lowerRuns().clear();
  for (Nesting& nesting : threadLevels.in)
    nesting = {nesting.level, nesting.level, 0, nesting.level};
}

std::uint32_t threadId() {
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

void recordRows(const prof::NvtxPlan& plan, const prof::NvtxEvent& event,
                const Payloads* payloads) {
  Recorder recorder(payloads);
  prof::mapNvtxEvent(plan, event, recorder);
}

}  // namespace lacuna::collector::nvtx
