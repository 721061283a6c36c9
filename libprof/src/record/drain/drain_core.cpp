// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/drain_core.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "record/drain/saver.h"

namespace fs = std::filesystem;

namespace lacuna::prof::recording {
namespace {

constexpr auto kSearchEvery = std::chrono::milliseconds(40);
constexpr auto kLifeCheckEvery = std::chrono::milliseconds(50);
/// Each time, what was read since goes into the trace as blocks of their own.
constexpr auto kRetryEvery = std::chrono::milliseconds(100);
constexpr TimeNs kClockRowEvery = 100'000'000;
/// Between two ticks the wall clock is slewed by at most 500 ppm, and a reading is late by less
/// than this.
constexpr TimeNs kClockStep = 1'000'000;
constexpr std::uint64_t kCheckpointMagic = 0x32544e4950434c00;

/// A name of each process that ever joined, and some numbers for each thread and text of the
/// living.
constexpr std::size_t kMostCheckpoint = std::size_t{1} << 30;

Error damagedCheckpoint(const fs::path& directory) {
  return Error{
      fmt::format("{}: damaged; delete it to recover what the segments hold, without what its "
                  "drainer had written",
                  checkpointPath(directory).string())};
}

std::string thisBoot() {
  auto boot = readFile("/proc/sys/kernel/random/boot_id");
  if (!boot.ok()) return {};
  while (!(*boot).empty() && (*boot).back() == '\n') (*boot).pop_back();
  return *boot;
}

}  // namespace

DrainCore::DrainCore(Place place, Writer writer, const DrainOptions& options)
    : place_(std::move(place)),
      segments_(segmentFolder(place_.directory)),
      key_(recordingKey(place_.directory)),
      folder_(place_.directory),
      options_(options),
      trace_(std::move(writer)),
      batches_(trace_),
      openLog_(place_.directory) {}

void DrainCore::findRecorders() {
  lastSearch_ = Steady::now();
  folder_.noteListing();
  // Another recording in this one's place has a drainer of its own.
  if (place_.live && isGone(place_.directory, key_)) return;
  const RecordingFiles files = listRecording(place_.directory);
  for (const fs::path& path : files.recorders) openRecorder(path);
  noteFailures(files.failures);
}

void DrainCore::openRecorder(const fs::path& path) {
  const std::string name = path.filename().string();
  if (readers_.contains(name) || done_.contains(name)) return;
  int system = 0;
  Result<MappedFile> file = MappedFile::open(path, place_.live, &system);
  if (!file.ok()) {
    // The next search may find room again.
    const bool isNew =
        system == 0 ? done_.insert(name).second : unopened_.emplace(name, file.error()).second;
    if (isNew) trace_.log(tick_.monotonicNs, LogLevel::Warning, file.error().message);
    return;
  }
  unopened_.erase(name);
  learnClocks((*file).view().header());
  if (place_.live) noteWhereItIs((*file).view().header());
  auto reader = std::make_unique<ProcessReader>(std::move(*file), path, trace_, batches_);
  if (const auto saved = saved_.find(name); saved != saved_.end()) {
    Loader loader(saved->second);
    reader->load(loader, savedOpen_.take(name));
    if (!loader.ok() || !loader.atEnd()) {
      ++trace_.stats().damaged;
      trace_.log(tick_.monotonicNs, LogLevel::Warning,
                 fmt::format("{}: its state in the checkpoint is damaged", name));
    }
    saved_.erase(saved);
  } else {
    ++trace_.stats().processes;
  }
  readers_.emplace(name, std::move(reader));
}

/// Before anybody asks for its number. A process that ends is noticed by its number, too.
void DrainCore::noteWhereItIs(Header& header) {
  if (lifeOf(header) != Life::Unseen) return;
  trace_.log(tick_.monotonicNs, LogLevel::Warning,
             fmt::format(
                 "process {} numbers itself in a PID namespace that cannot be seen from here: that "
                 "number is kept, and the process counts as running to the end of the recording",
                 header.osPid));
}

/// The recorder's own ticks describe the time before this drainer came, or another boot.
void DrainCore::learnClocks(const Header& header) {
  if (header.clock != ClockKind::Tsc) return;
  const bool sameBoot =
      thisBoot() == std::string(header.bootId, strnlen(header.bootId, sizeof header.bootId));
  const std::uint64_t before = clock_.empty() || !sameBoot ? ~0ull : clock_.first().tsc;
  for (const ClockTuple& tuple : header.tuples) {
    const std::uint64_t valid = tuple.valid.load(std::memory_order_acquire);
    const Tick tick{tuple.stamp, tuple.monotonicNs, tuple.realtimeNs};
    std::atomic_thread_fence(std::memory_order_acquire);
    // The recorder may be writing it anew.
    if (valid == 0 || tuple.valid.load(std::memory_order_relaxed) != valid) continue;
    if (tick.tsc < before && tick.monotonicNs > 0) clock_.add(tick);
  }
}

void DrainCore::noteFailures(const std::vector<fs::path>& notes) {
  for (const fs::path& note : notes) {
    if (failed_.contains(note.filename().string())) continue;
    const Result<std::string> text = readFile(note);
    // One without its end is being written; the next search, or the one at the end of the
    // recording, finds it complete.
    if (!text.ok() || !text->ends_with('\n')) continue;
    failed_.insert(note.filename().string());
    ++trace_.stats().unable;
    if (whyUnable_.empty()) whyUnable_ = text->substr(0, text->find('\n'));
    trace_.log(tick_.monotonicNs, LogLevel::Error, *text);
  }
}

void DrainCore::writeTick(const Tick& tick) {
  if (tick.monotonicNs - lastClockRow_ < kClockRowEvery) return;
  if (lastClockRow_ == 0) writeEnvironment();
  noteClockStep(tick);
  lastClockRow_ = tick.monotonicNs;
  trace_.append(::lacuna::prof::Clock{
      .timeNs = tick.monotonicNs, .realtimeNs = tick.realtimeNs, .tsc = tick.tsc});
}

/// Times of events are monotonic and do not care; who compares them with a log file's wall-clock
/// times has to know.
void DrainCore::noteClockStep(const Tick& tick) {
  const TimeNs passed = tick.monotonicNs - steady_.monotonicNs;
  const TimeNs moved = tick.realtimeNs - steady_.realtimeNs - passed;
  if (steady_.monotonicNs != 0 && std::abs(moved) > kClockStep + passed / 1000) {
    trace_.log(tick.monotonicNs, LogLevel::Warning,
               fmt::format("the wall clock was set {} by {:.3f} s", moved > 0 ? "forward" : "back",
                           static_cast<double>(std::abs(moved)) / 1e9));
  }
  steady_ = tick;
}

void DrainCore::writeEnvironment() {
  const auto put = [&](std::string_view key, std::string_view value) {
    trace_.append(
        Environment{.key = trace_.writer().intern(key), .value = trace_.writer().intern(value)});
  };
  utsname system{};
  if (uname(&system) == 0) {
    put("host.name", system.nodename);
    put("host.kernel", fmt::format("{} {}", system.sysname, system.release));
    put("host.machine", system.machine);
  }
  put("host.cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
}

bool DrainCore::drainAll(bool last) {
  tick_ = readClocks();
  clock_.add(tick_);
  writeTick(tick_);
  bool any = false;
  isFilling_ = false;
  for (auto& [name, reader] : readers_) {
    if (reader->closed()) continue;
    // A flight recorder is only read when nobody overwrites it any more.
    if (reader->flightRecorder() && !last && reader->alive()) continue;
    const std::uint64_t before = reader->segmentsRead();
    any |= reader->drain(clock_, tick_, last);
    isFilling_ |= reader->segmentsRead() > before + 1;
  }
  closeTheBroken();
  batches_.flush();
  return any;
}

/// A process can shorten the file of its events, by mistake or not. It loses them, and nobody else
/// does.
void DrainCore::closeTheBroken() {
  for (auto& [name, reader] : readers_) {
    if (!reader->broken() || reader->closed()) continue;
    reader->close(tick_.monotonicNs);
    ++trace_.stats().truncated;
    trace_.log(tick_.monotonicNs, LogLevel::Error,
               fmt::format(
                   "{}: was shortened while it was read, so what its process recorded last is lost",
                   name));
  }
}

void DrainCore::closeTheDead() {
  lastLifeCheck_ = Steady::now();
  for (auto& [name, reader] : readers_) {
    if (reader->closed() || reader->broken() || reader->alive()) continue;
    // It was seen dead first, so this reads the last that it recorded.
    reader->drain(clock_, tick_, true);
    if (!reader->broken()) reader->close(tick_.monotonicNs);
  }
  closeTheBroken();
  batches_.flush();
}

Result<bool> DrainCore::drain() {
  const MappingGuard::Scope scope;
  const auto now = Steady::now();
  if (now - lastSearch_ >= kSearchEvery && folder_.mayHaveChanged()) findRecorders();
  const bool any = drainAll(false);
  if (now - lastLifeCheck_ >= kLifeCheckEvery) closeTheDead();
  if (checkpointIsDue()) {
    const Status status = checkpoint();
    if (!status.ok()) {
      retryAt_ = Steady::now() + kRetryEvery;
      return status.error();
    }
  }
  return any;
}

bool DrainCore::checkpointIsDue() const {
  if (!place_.live || Steady::now() < retryAt_) return false;
  const bool wanted = std::any_of(readers_.begin(), readers_.end(), [](const auto& entry) {
    return !entry.second->closed() && entry.second->wantsRecycling();
  });
  if (wanted) return true;
  return Steady::now() - lastCheckpoint_ >= options_.flushEvery;
}

/// Saves what is open first: the checkpoint records how much of that holds.
Status DrainCore::saveState() {
  bool anew = false;
  if (Status begun = openLog_.begin(trace_.openBudget().bytes(), anew); !begun.ok()) return begun;
  for (auto& [name, reader] : readers_) reader->saveOpen(name, anew, openLog_);
  const Result<OpenLog::Place> open = openLog_.end();
  if (!open.ok()) return open.error();
  Saver saver;
  saver.put(kCheckpointMagic);
  saver.put(trace_.writer().bytesWritten());
  saver.put(*open);
  saver.put(lastClockRow_);
  trace_.save(saver);
  saver.putAll(done_, [&](const std::string& name) { saver.put(name); });
  saver.put(static_cast<std::uint64_t>(readers_.size()));
  for (auto& [name, reader] : readers_) {
    Saver state;
    reader->save(state);
    saver.put(name);
    saver.put(state.bytes());
  }
  if (Status written = replaceFile(checkpointPath(place_.directory), saver.bytes()); !written.ok())
    return written;
  openLog_.keep();
  for (auto& [name, reader] : readers_) reader->savedOpen();
  return {};
}

Status DrainCore::checkpoint() {
  batches_.flush();
  trace_.settleThreads(tick_.monotonicNs);
  const Status flushed = trace_.writer().flush();
  if (!flushed.ok()) return flushed;
  // Without the directory nobody could take the state up, and the segments are wanted.
  const Status status = isGone(place_.directory, key_) ? Status() : saveState();
  if (!status.ok()) {
    // The segments stay taken until it can be saved, so events may be dropped meanwhile.
    if (!std::exchange(reportedUnsaved_, true)) {
      trace_.log(tick_.monotonicNs, LogLevel::Warning,
                 "the recording's state could not be saved: " + status.error().message);
    }
    return status;
  }
  for (auto at = readers_.begin(); at != readers_.end();) {
    if (!at->second->closed()) {
      at->second->recycle();
      ++at;
      continue;
    }
    std::error_code error;
    fs::remove(at->second->path(), error);
    done_.insert(at->first);
    at = readers_.erase(at);
  }
  lastCheckpoint_ = Steady::now();
  return {};
}

Status DrainCore::flush() {
  const MappingGuard::Scope scope;
  findRecorders();
  drainAll(false);
  closeTheDead();
  return place_.live ? checkpoint() : Status();
}

Status DrainCore::finish() {
  const MappingGuard::Scope scope;
  findRecorders();
  if (!place_.live && !unopened_.empty()) return unopened_.begin()->second;
  for (auto& [name, reader] : readers_) reader->cutOff();
  lastClockRow_ =
      0 < lastClockRow_ ? std::min(lastClockRow_, readClocks().monotonicNs - kClockRowEvery) : 0;
  drainAll(true);
  for (auto& [name, reader] : readers_) {
    if (!reader->closed()) reader->close(tick_.monotonicNs);
  }
  batches_.flush();
  if (trace_.stats().damaged > 0) {
    trace_.log(tick_.monotonicNs, LogLevel::Warning,
               fmt::format("{} records of the segments made no sense and were left out",
                           trace_.stats().damaged));
  }
  trace_.writeEverybody(tick_.monotonicNs);
  Status finished = trace_.writer().finish();
  if (finished.ok() && !unopened_.empty()) finished = unopened_.begin()->second;
  if (!place_.live) return finished;
  // Rows that did not come into the trace are in the segments yet, for recover().
  if (!finished.ok() && !isGone(place_.directory, key_)) return finished;
  Result<std::string> removed = removeFolder(place_.directory, segments_, key_);
  if (removed.ok()) trace_.stats().left = *removed;
  return finished.ok() ? removed.status() : finished;
}

DrainStats DrainCore::stats() {
  DrainStats stats = trace_.stats();
  stats.fileBytes = trace_.writer().bytesWritten();
  stats.living = static_cast<std::uint32_t>(std::count_if(
      readers_.begin(), readers_.end(), [](const auto& entry) { return !entry.second->closed(); }));
  return stats;
}

Result<std::string> DrainCore::checkpointOf(const fs::path& directory) {
  int code = 0;
  auto checkpoint = readFile(checkpointPath(directory), kMostCheckpoint, &code);
  if (code == ENOENT) return std::string();
  if (!checkpoint.ok()) return checkpoint;
  // Without its state nobody knows which of the events in the segments are in the trace already.
  if (fileBytesOf(*checkpoint) == 0) return damagedCheckpoint(directory);
  return checkpoint;
}

std::uint64_t DrainCore::fileBytesOf(const std::string& checkpoint) {
  Loader loader(checkpoint);
  return loader.get<std::uint64_t>() == kCheckpointMagic ? loader.get<std::uint64_t>() : 0;
}

Status DrainCore::resume(const std::string& checkpoint) {
  Loader loader(checkpoint);
  loader.get<std::uint64_t>();
  loader.get<std::uint64_t>();
  const auto open = loader.get<OpenLog::Place>();
  const auto take = [&](std::string_view entry) {
    return savedOpen_.load(entry, trace_.openBudget());
  };
  if (Status read = OpenLog::read(place_.directory, open, take); !read.ok()) return read;
  lastClockRow_ = loader.getTime();
  trace_.load(loader);
  loader.getAll([&] { done_.insert(loader.getText()); });
  loader.getAll([&] {
    const std::string name = loader.getText();
    saved_[name] = loader.getText();
  });
  if (!loader.ok() || !loader.atEnd()) return damagedCheckpoint(place_.directory);
  return {};
}

}  // namespace lacuna::prof::recording
