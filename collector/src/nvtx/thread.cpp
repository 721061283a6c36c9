// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <string>

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

}  // namespace

constinit thread_local ThreadLevels threadLevels __attribute__((tls_model("initial-exec")));

std::uint32_t threadId() {
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

void recordRows(const prof::NvtxPlan& plan, const prof::NvtxEvent& event, const Payloads* payloads) {
  Recorder recorder(payloads);
  prof::mapNvtxEvent(plan, event, recorder);
}

}  // namespace lacuna::collector::nvtx
