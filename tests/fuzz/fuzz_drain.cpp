// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/prof/announced_operator.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/trace.h"
#include "record/layout.h"

/// Any bytes in the memory that a recorded process shares with its drainer. The input is a list of
/// patches {region, offset 16 bits, length} bytes… to a sound recording of a process that is gone.
namespace {

namespace fs = std::filesystem;
using namespace lacuna::prof;

constexpr std::uint32_t kSegments = 4;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_drain: %s failed\n", what);
  std::abort();
}

void recordSomething() {
  lacunaThreadName(lacunaName("a thread"));
  const LacunaName domain = lacunaName("a domain");
  const LacunaName site =
      lacunaSite(lacunaName("a site"), domain, lacunaName("a category"), 0xff00ff00u);
  LacunaEvent event{};
  event.name = lacunaName("an event");
  event.payloadType = LacunaPayloadF64;
  record(Queue{.id = QueueId{3}, .nativeId = 7});
  AnnouncedOperator announced{.startStamp = 2,
                              .stopStamp = 3,
                              .endStamp = 4,
                              .domain = domain,
                              .name = site,
                              .hasMemory = true};
  announced.beginStamp = lacunaStamp_();
  for (std::uint64_t* stamp : {&announced.startStamp, &announced.stopStamp, &announced.endStamp})
    *stamp += announced.beginStamp;
  for (std::uint64_t i = 0; i < 200; ++i) {
    lacunaRangePush(lacunaName("a range"));
    lacunaDomainRangePush(domain, site);
    event.payload = i;
    const std::uint64_t range = lacunaRangeStart(&event);
    lacunaMarkEvent(&event);
    lacunaCounter(lacunaCounterTrack(lacunaName("a counter"), lacunaName("B")),
                  static_cast<double>(i));
    lacunaAllocate(0x1000 + i, 64, event.name, 1);
    lacunaFlow(i, LacunaFlowBegin, event.name, domain);
    record(Kernel{.startNs = static_cast<TimeNs>(i), .durNs = 5, .queue = QueueId{3}});
    lacunaFree(0x1000 + i);
    lacunaLog(1, domain, event.name);
    lacunaAnnouncedOperator_(&announced);
    lacunaRangeEnd(range);
    lacunaDomainRangePop(domain);
    lacunaRangePop();
  }
}

/// The recording, and its file as it was before the patches.
class Victim {
 public:
  Victim() {
    std::string home = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                       "fuzz-drain-XXXXXX";
    must(::mkdtemp(home.data()) != nullptr, "mkdtemp");
    directory = fs::path(home) / "recording";
    output = fs::path(home) / "trace.lcn";
    RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = kSegments * recording::kSegmentBytes;
    options.sharedMemory = false;
    must(createRecording(directory, options).ok(), "createRecording");
    const pid_t child = ::fork();
    if (child == 0) {
      if (lacunaAttach(directory.c_str()) != 0) ::_exit(1);
      recordSomething();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    must(status == 0, "recording");
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == recording::kFileSuffix)
        file_ = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    }
    must(file_ >= 0, "opening the recorder's file");
    // Without patches it is sound; otherwise nothing below would be reached.
    const Result<DrainStats> stats = recover(directory, output, true);
    must(stats.ok() && (*stats).damaged == 0 && (*stats).events > 2000,
         "draining the sound recording");
  }
  ~Victim() {
    std::error_code ignored;
    fs::remove_all(directory.parent_path(), ignored);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  void patch(std::uint8_t region, std::size_t offset, const std::uint8_t* bytes,
             std::size_t count) {
    static const recording::Offsets kOffsets(kSegments);
    // The header's first words name its owner; a living process of that number would only end the
    // run early.
    const std::size_t starts[] = {offsetof(recording::Header, bootId),
                                  kOffsets.links,
                                  kOffsets.threads,
                                  kOffsets.strings,
                                  kOffsets.segments,
                                  kOffsets.segments + recording::kSegmentBytes};
    const std::size_t sizes[] = {recording::kHeaderBytes - offsetof(recording::Header, bootId),
                                 64,
                                 4096,
                                 4096,
                                 recording::kSegmentBytes,
                                 recording::kSegmentBytes};
    const std::size_t which = region % std::size(starts);
    const std::size_t at = starts[which] + offset % sizes[which];
    Old old{at, std::vector<std::uint8_t>(count)};
    must(::pread(file_, old.bytes.data(), count, static_cast<off_t>(at)) ==
             static_cast<ssize_t>(count),
         "pread");
    must(::pwrite(file_, bytes, count, static_cast<off_t>(at)) == static_cast<ssize_t>(count),
         "pwrite");
    undo_.push_back(std::move(old));
  }
  void restore() {
    for (; !undo_.empty(); undo_.pop_back()) {
      const Old& old = undo_.back();
      must(::pwrite(file_, old.bytes.data(), old.bytes.size(), static_cast<off_t>(old.at)) > 0,
           "pwrite");
    }
  }

  fs::path directory;
  fs::path output;

 private:
  struct Old {
    std::size_t at;
    std::vector<std::uint8_t> bytes;
  };
  int file_ = -1;
  std::vector<Old> undo_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Victim victim;
  constexpr std::size_t kHead = 4;
  while (size > kHead) {
    const std::size_t count = std::min<std::size_t>(1 + data[3] % 64, size - kHead);
    victim.patch(data[0], data[1] | data[2] << 8, data + kHead, count);
    data += kHead + count;
    size -= kHead + count;
  }
  const Result<DrainStats> stats = recover(victim.directory, victim.output, true);
  victim.restore();
  // Whatever the memory held, the result is a sound trace.
  if (stats.ok()) {
    const Result<Reader> trace = Reader::open(victim.output);
    must(trace.ok() && (*trace).complete() && (*trace).damage().empty(), "reading the trace");
  }
  return 0;
}
