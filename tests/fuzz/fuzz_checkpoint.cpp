// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_patches.h"
#include "fuzz_recording.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/collector/recover.h"
#include "lacuna/prof/announced.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/trace.h"
#include "record/layout.h"
#include "sampler/journal.h"
#include "sampler/stacks.h"

/// Any bytes in what a dead drainer left beside the segments: its checkpoint, the log of open
/// ranges, the journal of frames, the note of its trace, and that trace. The input is a list of
/// patches (fuzz_patches.h) to the sound files of a recording. Whatever is made of it, recover()
/// gives words or a sound trace, and that can be analysed.
namespace {

namespace fs = std::filesystem;
using namespace lacuna;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_checkpoint: %s failed\n", what);
  std::abort();
}

std::string bytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void openRanges(LacunaName domain, std::uint64_t round, std::vector<std::uint64_t>& started) {
  using namespace prof;
  const LacunaName name = lacunaName("an event");
  LacunaEvent event{};
  event.name = name;
  event.payloadType = LacunaPayloadU64;
  event.payload = round;
  lacunaRangePush(name);
  lacunaRangePushEvent(&event);
  lacunaDomainRangePush(
      domain, lacunaSite(lacunaName("a site"), domain, lacunaName("a category"), 0xff00ff00u));
  for (int i = 0; i < 2; ++i) started.push_back(lacunaRangeStart(&event));
  lacunaRangeEnd(started[round]);
  const AnnouncedExecution announced{
      .correlation = round + 1, .sequence = round + 1, .bytes = 64, .queue = 3};
  lacunaPushExecution_(domain, name, lacunaName("a category"), &announced);
  lacunaCounter(lacunaCounterTrack(lacunaName("a counter"), lacunaName("B")),
                static_cast<double>(round));
  record(Kernel{.startNs = static_cast<TimeNs>(round),
                .durNs = 5,
                .queue = QueueId{3},
                .device = DeviceId{1}});
}

/// The files that a drainer left.
struct Left {
  enum File : std::uint8_t { Checkpoint, Log, Frames, Output, Trace, Segments, Count };
  std::array<fs::path, Count> paths;
  std::array<std::string, Count> bytes;
};

class Victim {
 public:
  Victim() {
    std::string home = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                       "fuzz-checkpoint-XXXXXX";
    must(::mkdtemp(home.data()) != nullptr, "mkdtemp");
    directory_ = fs::path(home) / "recording";
    output_ = fs::path(home) / "recovered.lcn";
    recordSomething(fs::path(home) / "trace.lcn");
    findFiles(fs::path(home) / "trace.lcn");
    // Without patches nothing is lost; otherwise nothing below would be reached.
    const auto stats = collector::recover(directory_, output_, true);
    must(stats.ok() && (*stats).damaged == 0 && (*stats).events > 30,
         "recovering the sound recording");
    const auto trace = prof::Reader::open(output_);
    must(trace.ok() && (*trace).table<prof::StackFrame>().ok() &&
             !(*trace).table<prof::StackFrame>()->id.empty(),
         "recovering the frames");
  }
  ~Victim() {
    std::error_code ignored;
    fs::remove_all(directory_.parent_path(), ignored);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  void attack(const std::uint8_t* data, std::size_t size) {
    Left now = sound_;
    std::array<bool, Left::Count> changed{};
    fuzz::forEachPatch(data, size, [&](const fuzz::Patch& patch) {
      const std::size_t which = patch.target % Left::Count;
      changed[which] = true;
      if (which == Left::Segments) {
        patch.overwrite(now.bytes[which], recordedBytes_);
      } else {
        patch.apply(now.bytes[which]);
      }
    });
    for (std::size_t i = 0; i < now.paths.size(); ++i) {
      if (changed[i]) write(now.paths[i], now.bytes[i]);
    }
    check();
    for (std::size_t i = 0; i < now.paths.size(); ++i) {
      if (!changed[i]) continue;
      must(bytesOf(now.paths[i]) == now.bytes[i], "leaving the recording as it was");
      write(now.paths[i], sound_.bytes[i]);
    }
  }

 private:
  void recordSomething(const fs::path& trace) {
    prof::RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = 4 * prof::recording::kSegmentBytes;
    options.sharedMemory = false;
    must(prof::createRecording(directory_, options).ok(), "createRecording");
    must(lacunaAttach(directory_.c_str()) == 0, "attaching");
    sound_.paths[Left::Segments] = fuzz::makeRecorderPlain(directory_);
    auto drainer = prof::Drainer::create(directory_, trace);
    must(drainer.ok(), "creating a drainer");
    prof::record(
        prof::Device{.id = prof::DeviceId{1}, .uuid = prof::StringId{lacunaName("GPU-1")}});
    prof::record(prof::Queue{.id = prof::QueueId{3}, .device = prof::DeviceId{1}, .nativeId = 7});
    const LacunaName domain = lacunaName("a domain");
    std::vector<std::uint64_t> started;
    for (std::uint64_t round = 0; round < 3; ++round) {
      openRanges(domain, round, started);
      if (round == 0) drainer->with([&](prof::Drainer::Access& access) { sample(access); });
      must(drainer->flush().ok(), "saving the drainer's state");
    }
    openRanges(domain, 3, started);
    lacunaDetach();
  }

  /// Two stacks, with the journal that names their frames.
  void sample(prof::Drainer::Access& access) const {
    collector::sampler::Stacks stacks;
    collector::sampler::AddressSpace space;
    space.map(0x1000, {0x2000, 0, stacks.moduleOf({"[vdso]", 1, 2, "id"})});
    space.map(0x5000, {0x6000, 0x400, stacks.moduleOf({"lib", 0, 0, {}})});
    const auto frame = stacks.add(space, {0x1010, 0x5020, 0x1030}, access);
    stacks.add(space, {0x1040, 0x5020, 0x1030}, access);
    collector::sampler::Journal(collector::sampler::Journal::framesOf(directory_))
        .append(stacks.takeJournal());
    access.writer().append(prof::CpuSample{.timeNs = 5, .stack = frame});
    access.countRows(1);
  }

  void findFiles(const fs::path& trace) {
    sound_.paths[Left::Checkpoint] = directory_ / "checkpoint";
    sound_.paths[Left::Output] = directory_ / "output";
    sound_.paths[Left::Frames] = collector::sampler::Journal::framesOf(directory_);
    sound_.paths[Left::Trace] = trace;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().filename().string().starts_with("open-"))
        sound_.paths[Left::Log] = entry.path();
    }
    for (std::size_t i = 0; i < sound_.paths.size(); ++i) {
      sound_.bytes[i] = bytesOf(sound_.paths[i]);
      must(!sound_.bytes[i].empty(), "finding the drainer's files");
    }
    recordedBytes_ = prof::recording::Offsets(4).segments + 4096;
  }

  void check() const {
    std::error_code ignored;
    fs::remove(output_, ignored);
    const auto stats = collector::recover(directory_, output_, true);
    if (!stats.ok()) {
      must(!stats.error().message.empty() && !fs::exists(output_, ignored), "refusing a recording");
      return;
    }
    const auto trace = prof::Reader::open(output_);
    must(trace.ok() && (*trace).complete() && (*trace).damage().empty(), "reading the trace");
    const auto store = analyzer::Store::open(output_);
    must(store.ok(), "opening the trace");
    const auto analysis = analyzer::analyse(*store);
    must(analysis.ok()
             ? !analyzer::describeRun(*analysis).empty() && !analyzer::verdict(*analysis).empty()
             : !analysis.error().message.empty(),
         "summing the trace up");
  }

  fs::path directory_, output_;
  Left sound_;
  std::size_t recordedBytes_ = 0;  ///< of the recorder's file, up to what its first segment holds
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Victim victim;
  victim.attack(data, size);
  return 0;
}
