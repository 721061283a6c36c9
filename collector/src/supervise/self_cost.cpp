// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/self_cost.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/clock.h"
#include "lacuna/prof/leftovers.h"
#include "lacuna/prof/recording.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 31;
constexpr int kEvents = 20;

/// Three numbers of an operator or an allocation, as the runtime gives them.
struct Payload {
  std::uint64_t numbers[3];
};

nvtxPayloadSchemaEntry_t entry(const char* name, std::uint64_t position) {
  return {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64,   name,    nullptr,
          0, position * sizeof(std::uint64_t), nullptr, nullptr};
}

/// An event of the runtime's schema, which most events of a recording are.
class Event {
 public:
  Event(nvtxDomainHandle_t domain, const char* schemaName, const char* first, const char* second,
        const char* third)
      : domain_(domain) {
    const nvtxPayloadSchemaEntry_t entries[] = {entry(first, 0), entry(second, 1), entry(third, 2)};
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = schemaName;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = std::size(entries);
    schema.payloadStaticSize = sizeof(Payload);
    data_ = {nvtxPayloadSchemaRegister(domain, &schema), sizeof(Payload), &payload_};
    event_.version = NVTX_VERSION;
    event_.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event_.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event_.message.registered = nvtxDomainRegisterStringA(domain, "event");
    event_.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event_.payload.ullValue = reinterpret_cast<std::uint64_t>(&data_);
    event_.reserved0 = 1;
  }
  Event(const Event&) = delete;
  void range() {
    nvtxDomainRangePushEx(domain_, &event_);
    nvtxDomainRangePop(domain_);
  }
  void mark() { nvtxDomainMarkEx(domain_, &event_); }

 private:
  nvtxDomainHandle_t domain_;
  Payload payload_{};
  nvtxPayloadData_t data_{};
  nvtxEventAttributes_t event_{};
};

/// A program computes between its events, so that they find little of what they need in the caches
/// next to the core.
class OtherWork {
 public:
  void operator()() {
    volatile char* bytes = bytes_.data();
    for (std::size_t at = 0; at < kBytes; at += kLine) bytes[at] = 1;
  }

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  static constexpr std::size_t kLine = 64;
  std::vector<char> bytes_ = std::vector<char>(kBytes);
};

/// Time of an event and of reading the clock, after other work. A clock may tick in tens of
/// nanoseconds: sums do not.
template <class Work>
double medianNs(OtherWork& between, Work&& work) {
  std::array<double, kRounds> rounds{};
  for (double& round : rounds) {
    std::int64_t sum = 0;
    for (int i = 0; i < kEvents; ++i) {
      between();
      const std::int64_t start = nowNs();
      work();
      sum += nowNs() - start;
    }
    round = static_cast<double>(sum) / kEvents;
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

/// In the child: becomes a recorded program and reports what its events took.
[[noreturn]] void measure(const fs::path& injection, const fs::path& recording, int out) {
  // The supervisor has every signal blocked by now; an injection that never returns must not hold
  // the program up.
  signal(SIGALRM, SIG_DFL);
  sigset_t bell;
  sigemptyset(&bell);
  sigaddset(&bell, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &bell, nullptr);
  alarm(5);
  setenv("NVTX_INJECTION64_PATH", injection.c_str(), 1);
  setenv(prof::kRecordingVariable, recording.c_str(), 1);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("lacuna.rt");
  Event op(domain, "lacuna.rt.operator", "correlation", "sequence", "flow");
  Event memory(domain, "lacuna.rt.memory", "address", "bytes", "sequence");
  OtherWork between;
  const double emptyNs = medianNs(between, [] {});
  SelfCost cost;
  cost.rangeNs = std::max(0.0, medianNs(between, [&] { op.range(); }) - emptyNs);
  cost.markNs = std::max(0.0, medianNs(between, [&] { memory.mark(); }) - emptyNs);
  const bool written = write(out, &cost, sizeof(cost)) == sizeof(cost);
  _exit(written ? 0 : 1);
}

/// A folder that is in use as long as this process, or one that it has forked, has it open.
class Lock {
 public:
  explicit Lock(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    if (fd_ >= 0) (void)flock(fd_, LOCK_EX | LOCK_NB);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_;
};

std::optional<SelfCost> askChild(const fs::path& injection, const fs::path& recording) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) measure(injection, recording, ends[1]);
  close(ends[1]);
  SelfCost cost;
  const bool heard = child > 0 && read(ends[0], &cost, sizeof(cost)) == sizeof(cost);
  close(ends[0]);
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  return heard && status == 0 ? std::optional(cost) : std::nullopt;
}

}  // namespace

std::optional<SelfCost> measureSelfCost(const fs::path& injection) {
  std::error_code error;
  std::string folder =
      (fs::temp_directory_path(error) / fmt::format("{}XXXXXX", prof::kSelfPrefix)).string();
  if (error || mkdtemp(folder.data()) == nullptr) return std::nullopt;
  // While it is locked, here or in the child, nobody takes it for an orphan.
  const Lock lock(folder);
  std::optional<SelfCost> cost;
  if (prof::createRecording(folder, {.poolBytes = 4u << 20, .maxPoolBytes = 4u << 20}))
    cost = askChild(injection, folder);
  if (!prof::removeRecording(folder)) (void)rmdir(folder.c_str());
  return cost;
}

void appendSelfCost(const SelfCost& cost, prof::Writer& out) {
  const auto note = [&](std::string_view kind, double ns) {
    out.append(prof::Environment{.key = out.intern(fmt::format("self.cost.{}", kind)),
                                 .value = out.intern(fmt::format("{:.1f}", ns))});
  };
  note("range", cost.rangeNs);
  note("mark", cost.markNs);
}

}  // namespace lacuna::collector
