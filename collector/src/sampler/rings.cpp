// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/rings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "proc/proc_file.h"

namespace lacuna::collector::timer {

using sampler::PerfRecord;

namespace {

/// A program that maps code all the time must not cost a core.
constexpr prof::TimeNs kMapsEveryNs = 100'000'000;
/// A stamp later than this from now makes no sense.
constexpr prof::TimeNs kMostAheadNs = 1'000'000'000;
constexpr std::string_view kOwnLibrary = "/liblacuna_sampler.so";

/// The number in base 16 that `text` begins with; `text` moves past it and one character more.
bool takeHex(std::string_view& text, std::uint64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(parsed.ptr - text.data()) + 1));
  return true;
}

/// "start-end rwxp offset device inode   path"
bool parseLine(std::string_view line, CodePiece& piece) {
  if (!takeHex(line, piece.start) || !takeHex(line, piece.end) || line.size() < 5 || line[2] != 'x')
    return false;
  line.remove_prefix(5);
  if (!takeHex(line, piece.offset)) return false;
  std::uint64_t minor = 0;
  if (!takeHex(line, piece.device) || !takeHex(line, minor)) line = {};
  piece.device = piece.device << 32 | minor;
  const auto space = std::min(line.find(' '), line.size());
  std::from_chars(line.data(), line.data() + space, piece.inode);
  line.remove_prefix(space);
  const auto path = line.find_first_not_of(' ');
  piece.path = path == std::string_view::npos ? std::string_view() : line.substr(path);
  return piece.start < piece.end;
}

const CodePiece* pieceAt(const std::vector<CodePiece>& code, std::uint64_t address) {
  auto after =
      std::upper_bound(code.begin(), code.end(), address,
                       [](std::uint64_t at, const CodePiece& piece) { return at < piece.start; });
  return after != code.begin() && address < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

void addLostSamples(std::uint64_t count, const char* why, prof::TimeNs nowNs,
                    std::vector<PerfRecord>& into) {
  PerfRecord lost;
  lost.kind = PerfRecord::Kind::Lost;
  lost.timeNs = nowNs;
  lost.lost = count;
  lost.text = why;
  into.push_back(std::move(lost));
}

}  // namespace

std::vector<CodePiece> parseMaps(std::string_view text) {
  std::vector<CodePiece> pieces;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    CodePiece piece;
    if (parseLine(text.substr(0, end), piece)) pieces.push_back(std::move(piece));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const CodePiece& a, const CodePiece& b) { return a.start < b.start; });
  return pieces;
}

void Rings::Unmap::operator()(Ring* ring) const {
  munmap(ring, sizeof(Ring));
}

/// One that cannot be seen runs as far as anybody knows.
bool Rings::hasEnded(const Source& source) {
  using Where = prof::FoundProcess::Where;
  if (source.where != Where::Here) return source.where == Where::Gone;
  return kill(static_cast<pid_t>(source.pid), 0) != 0 && errno == ESRCH;
}

std::uint32_t Rings::tidOf(Source& source, std::uint32_t ownTid) {
  if (source.where != prof::FoundProcess::Where::Here || !prof::isForeign(source.self))
    return ownTid;
  if (ownTid == source.self.pid) return source.pid;
  std::uint32_t& tid = source.ownTids[ownTid];
  if (tid == 0) tid = prof::findThread(source.pid, ownTid);
  if (tid == 0) tid = ownTid;
  return tid;
}

void Rings::update(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  findNew(nowNs, into);
  for (auto& source : sources_) {
    // Seen gone first, so that what is read then is all.
    const bool gone = hasEnded(*source);
    drain(*source, nowNs, into);
    const bool broken = source->guard.broken();
    if (broken)
      addLostSamples(1, "of a program that shortened the file of its CPU samples", nowNs, into);
    if (!gone && !broken) continue;
    end(*source, nowNs, true, into);
    source.reset();
  }
  std::erase(sources_, nullptr);
}

void Rings::findNew(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), last; !error && at != last;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool known = std::any_of(sources_.begin(), sources_.end(), [&](const auto& source) {
      return source->path.filename().string() == name;
    });
    if (name.starts_with(kFilePrefix) && !known) found.push_back(at->path());
  }
  // The moment at the end of the name has as many digits in all of them: a parent comes before what
  // it has forked.
  const auto moment = [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name.substr(name.rfind('-') + 1);
  };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    const std::string first = moment(a), second = moment(b);
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  for (const auto& path : found) open(path, nowNs, into);
}

bool Rings::open(const std::filesystem::path& path, prof::TimeNs nowNs,
                 std::vector<PerfRecord>& into) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status {};
  const bool complete = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                        static_cast<std::size_t>(status.st_size) >= sizeof(Ring);
  void* at = complete ? mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
  ::close(fd);
  if (at == MAP_FAILED) return false;
  auto source = std::make_unique<Source>();
  source->path = path;
  source->ring.reset(static_cast<Ring*>(at));
  source->guard = prof::MappingGuard(at, sizeof(Ring));
  const Ring& ring = *source->ring;
  // Else it is still being made; the next update sees it.
  if (ring.magic.load(std::memory_order_acquire) != Ring::kMagic) return false;
  source->self = {static_cast<std::uint32_t>(ring.pid), ring.pidNamespace, 0};
  source->pid = source->self.pid;
  auto parent = static_cast<std::uint32_t>(ring.parent);
  if (prof::isForeign(source->self)) {
    const prof::FoundProcess found = prof::findProcess(source->self);
    source->where = found.where;
    if (found.pid != 0) source->pid = found.pid;
    parent = found.parent;
  }
  bool exec = false;
  for (auto& before : sources_) {
    // The same process runs another program now.
    if (before->pid == source->pid && before->where == source->where) {
      drain(*before, nowNs, into);
      end(*before, nowNs, false, into);
      before.reset();
      exec = true;
    } else if (before->pid == parent) {
      source->code = before->code;
    }
  }
  std::erase(sources_, nullptr);
  const std::string name(ring.name, strnlen(ring.name, sizeof ring.name));
  scan_.meet(source->pid, parent, name, std::min(ring.startNs, nowNs), into, exec);
  sources_.push_back(std::move(source));
  return true;
}

void Rings::drain(Source& source, prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  Ring& ring = *source.ring;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const Sample& sample = ring.samples[source.tail % kSamples];
    if (sample.turn.load(std::memory_order_acquire) != source.tail + 1) break;
    addSample(source, sample, nowNs, into);
    ++source.tail;
  }
  ring.tail.store(source.tail, std::memory_order_release);
  const std::uint64_t dropped = ring.dropped.load(std::memory_order_relaxed);
  if (dropped <= source.dropped) return;
  addLostSamples(dropped - source.dropped, "no room for CPU samples of timers", nowNs, into);
  source.dropped = dropped;
}

void Rings::addSample(Source& source, const Sample& sample, prof::TimeNs nowNs,
                      std::vector<PerfRecord>& into) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::Sample;
  record.pid = source.pid;
  record.tid = tidOf(source, sample.tid);
  const prof::TimeNs startNs = source.ring->startNs;
  record.timeNs =
      sample.timeNs >= startNs && sample.timeNs - nowNs < kMostAheadNs ? sample.timeNs : nowNs;
  source.lastNs = std::max(source.lastNs, record.timeNs);
  record.weightNs = scan_.account(source.pid, record.tid, sample.cpuNs);
  const std::size_t depth = std::min<std::size_t>(sample.depth, kFrames);
  source.threads.insert(record.tid);
  bool refreshed = false;
  for (std::size_t i = 0; i < depth; ++i) {
    const std::uint64_t address = sample.frames[i];
    const CodePiece* piece = pieceAt(source.code, address);
    if (piece == nullptr && !refreshed) {
      refreshed = true;
      if (refreshCode(source, record.timeNs, nowNs, into)) piece = pieceAt(source.code, address);
    }
    // Where functions keep no frame pointers, what lies in the place of a return address may be
    // anything.
    if (piece == nullptr && i > 0) break;
    // It is nothing to see that a thread began in our library.
    if (i > 0 && piece->path.ends_with(kOwnLibrary)) continue;
    record.frames.push_back(address);
  }
  into.push_back(std::move(record));
}

/// Where code lies now, from the process itself or what it left. True when there may be more than
/// before.
bool Rings::refreshCode(Source& source, prof::TimeNs timeNs, prof::TimeNs nowNs,
                        std::vector<PerfRecord>& into) {
  if (source.mapsReadNs == 0 || nowNs - source.mapsReadNs >= kMapsEveryNs) {
    source.mapsReadNs = nowNs;
    const bool here = source.where == prof::FoundProcess::Where::Here;
    const std::string maps =
        here ? proc::read("/proc/" + std::to_string(source.pid) + "/maps") : std::string();
    if (!maps.empty()) {
      learnCode(source, maps, timeNs, into);
      return true;
    }
  }
  const Ring& ring = *source.ring;
  const std::uint32_t turn = ring.mapsTurn.load(std::memory_order_acquire);
  if (turn == source.mapsTurn || turn % 2 != 0) return false;
  source.mapsTurn = turn;
  const std::size_t bytes =
      std::min<std::size_t>(ring.mapsBytes.load(std::memory_order_acquire), kMapsBytes);
  learnCode(source, std::string(ring.maps, bytes), timeNs, into);
  return true;
}

void Rings::learnCode(Source& source, std::string_view maps, prof::TimeNs timeNs,
                      std::vector<PerfRecord>& into) {
  source.code = parseMaps(maps);
  for (const CodePiece& piece : source.code) {
    PerfRecord record;
    record.kind = PerfRecord::Kind::Map;
    record.pid = record.tid = source.pid;
    record.timeNs = timeNs;
    record.address = piece.start;
    record.length = piece.end - piece.start;
    record.offset = piece.offset;
    record.device = piece.device;
    record.inode = piece.inode;
    record.text = piece.path;
    into.push_back(std::move(record));
  }
}

void Rings::end(Source& source, prof::TimeNs nowNs, bool gone, std::vector<PerfRecord>& into) {
  Ring& ring = *source.ring;
  // A process that was killed may have left places empty that it had taken.
  const std::uint64_t head =
      std::min(ring.head.load(std::memory_order_acquire), source.tail + kSamples);
  while (source.tail < head) {
    ++source.tail;
    drain(source, nowNs, into);
  }
  untimed_ += ring.untimed.load(std::memory_order_relaxed);
  // It may have sampled itself since this update began.
  if (gone) scan_.leave(source.pid, source.threads, std::max(nowNs, source.lastNs + 1), into);
  std::error_code error;
  std::filesystem::remove(source.path, error);
}

std::uint64_t Rings::untimed() const {
  std::uint64_t sum = untimed_;
  for (const auto& source : sources_) sum += source->ring->untimed.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace lacuna::collector::timer
