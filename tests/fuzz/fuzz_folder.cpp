// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_patches.h"
#include "fuzz_recording.h"
#include "lacuna/collector/recover.h"
#include "lacuna/prof/leftovers.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/trace.h"
#include "record/layout.h"
#include "record/segment_folder.h"

/// Any files, folders, links, pipes and holes where a recording is expected. The input is {action}
/// and a list of {place and kind, name, content, length} bytes… They change a sound recording or
/// fill an empty folder. Then a command that reads or removes recordings runs on it. It must end,
/// change nothing beside the recording, keep files that no recording makes, and keep the recording
/// until there is a whole trace of it.
namespace {

namespace fs = std::filesystem;
using namespace lacuna;

void must(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_folder: %.*s\n", static_cast<int>(what.size()), what.data());
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

/// Shared memory and temporary files of this process alone, as far as the system allows: another
/// program's leftovers are none of the fuzzer's.
bool isolate() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWNS) != 0) {
    // Root without its rights may not map itself, and could then make nothing.
    if (::geteuid() == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", user + " " + user + " 1");
    write("/proc/self/gid_map", group + " " + group + " 1");
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=256m") == 0;
}

/// libFuzzer's alarm would end a call that waits, such as the opening of a pipe, long before its
/// time limit is over.
void letWaitsGoOn() {
  struct sigaction alarm {};
  ::sigaction(SIGALRM, nullptr, &alarm);
  alarm.sa_flags |= SA_RESTART;
  ::sigaction(SIGALRM, &alarm, nullptr);
}

/// The entries below a folder, by path: its kind, and what it holds.
using Tree = std::map<std::string, std::string>;

std::string describe(const fs::path& path) {
  constexpr std::uintmax_t kReadAll = 1 << 20;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  switch (status.type()) {
    case fs::file_type::regular: {
      const std::uintmax_t size = fs::file_size(path, error);
      return "file " + std::to_string(size) + " " +
             (size <= kReadAll ? bytesOf(path) : std::string());
    }
    case fs::file_type::symlink:
      return "link " + fs::read_symlink(path, error).string();
    default:
      return "kind " + std::to_string(static_cast<int>(status.type()));
  }
}

Tree treeOf(const fs::path& folder) {
  Tree tree;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), last; !error && at != last;
       at.increment(error))
    tree[at->path().string()] = describe(at->path());
  return tree;
}

enum class Kind : std::uint8_t { File, Empty, Holes, Folder, Link, Pipe, HardLink, Gone, Count };
enum class Action : std::uint8_t { Recover, RecoverAndKeep, Remove, Leftovers, Create, Count };

/// No recording makes these, whatever they are: they must stay.
constexpr std::array<const char*, 3> kForeign = {"precious", "1-0.lcr.bak", "shm2"};
constexpr std::array<const char*, 21> kNames = {
    "settings", "settings.new",     "shm",       "owner",   "checkpoint", "checkpoint.tmp",
    "output",   "control",          "trace",     "frames",  "open-1",     "open-2",
    "stacks-1", "stacks-999999999", "1-0.lcr",   "2-0.lcr", ".failed",    "1-0.failed",
    "snapshot", "trace.tmp",        "output.tmp"};

class Victim {
 public:
  Victim() : isolated_(gIsolated) {
    letWaitsGoOn();
    std::string home = "/dev/shm/fuzz-folder-XXXXXX";
    must(::mkdtemp(home.data()) != nullptr, "no folder can be made");
    home_ = home;
    makeCanary();
    recordSomething();
    const std::string self = (home_ / "tmp" / (std::string(prof::kSelfPrefix) + "fuzzed")).string();
    places_ = {recording_, shared_, recording_ / "snapshot", self};
    fs::create_directories(home_ / "out");
    fs::create_directories(home_ / "tmp");
    ::setenv("TMPDIR", (home_ / "tmp").c_str(), 1);
    // Unchanged it is recovered; otherwise nothing below would be reached.
    const std::uint8_t plain[] = {static_cast<std::uint8_t>(Action::RecoverAndKeep)};
    attack(plain, sizeof plain);
    const auto trace = prof::Reader::open(home_ / "out" / "trace.lcn");
    must(trace.ok() && (*trace).rows<prof::Range>() > 0, "the sound recording is not recovered");
  }
  ~Victim() {
    std::error_code ignored;
    fs::remove_all(shared_, ignored);
    fs::remove_all(home_, ignored);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  void attack(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return;
    const auto action = static_cast<Action>(data[0] % 0x80 % static_cast<int>(Action::Count));
    restore((data[0] & 0x80) != 0);
    change(data + 1, size - 1);
    before_ = {treeOf(home_ / "canary"), treeOf(recording_), treeOf(shared_),
               treeOf(home_ / "tmp")};
    switch (action) {
      case Action::Recover:
        return recover(false);
      case Action::RecoverAndKeep:
        return recover(true);
      case Action::Remove:
        (void)prof::removeRecording(recording_);
        return mustKeepWhatIsForeign();
      case Action::Leftovers:
        return checkForLeftovers();
      default:
        return create();
    }
  }

 private:
  struct Before {
    Tree canary, recording, shared, temporary;
  };

  void makeCanary() {
    const fs::path canary = home_ / "canary";
    fs::create_directories(canary / "snapshot");
    for (const char* name :
         {"settings", "owner", "1-0.lcr", "precious", "checkpoint", "snapshot/1-0.lcr"})
      write(canary / name, "the user's own");
  }

  void recordSomething() {
    recording_ = home_ / "recording";
    prof::RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = 2 * prof::recording::kSegmentBytes;
    must(prof::createRecording(recording_, options).ok(), "no recording can be made");
    shared_ = prof::segmentFolder(recording_);
    must(shared_ != recording_, "shared memory has no room");
    must(lacunaAttach(recording_.c_str()) == 0, "nothing can be recorded");
    fuzz::makeRecorderPlain(shared_);
    auto drainer = prof::Drainer::create(recording_, home_ / "written.lcn");
    must(drainer.ok(), "nothing can be drained");
    for (int round = 0; round < 2; ++round) {
      lacunaRangePush(lacunaName("a range"));
      lacunaRangePush(lacunaName("another"));
      lacunaRangePop();
      must(drainer->flush().ok(), "the drainer's state is not saved");
    }
    lacunaMark(lacunaName("a mark"));
    lacunaDetach();
    for (const fs::path& folder : {recording_, shared_}) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_symlink()) continue;
        sound_.push_back({entry.path(), bytesOf(entry.path())});
        contents_.push_back(sound_.back().bytes);
      }
    }
    contents_.push_back(bytesOf(home_ / "written.lcn"));
  }

  void restore(bool empty) const {
    std::error_code ignored;
    for (const fs::path& path : {recording_, shared_, home_ / "out", home_ / "tmp"}) {
      fs::remove_all(path, ignored);
      fs::create_directory(path, ignored);
    }
    if (empty) return;
    for (const Sound& one : sound_) write(one.path, one.bytes);
    fs::create_symlink(shared_, recording_ / prof::recording::kSharedLink, ignored);
  }

  void change(const std::uint8_t* data, std::size_t size) const {
    constexpr std::size_t kHead = 4;
    while (size >= kHead) {
      const auto kind =
          static_cast<Kind>(data[0] / places_.size() % static_cast<std::size_t>(Kind::Count));
      const fs::path& place = places_[data[0] % places_.size()];
      const std::size_t number = data[1] % (kNames.size() + kForeign.size());
      const char* name = number < kNames.size() ? kNames[number] : kForeign[number - kNames.size()];
      const std::size_t count = std::min<std::size_t>(data[3], size - kHead);
      make(kind, place / name, data[2], data + kHead, count);
      data += kHead + count;
      size -= kHead + count;
    }
  }

  void make(Kind kind, const fs::path& path, std::uint8_t content, const std::uint8_t* data,
            std::size_t size) const {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    // Not through a link that an entry before made of it.
    if (!fs::is_directory(fs::symlink_status(path.parent_path(), ignored))) return;
    fs::remove_all(path, ignored);
    switch (kind) {
      case Kind::File:
        return write(path, contentOf(content, data, size));
      case Kind::Empty:
        return write(path, "");
      case Kind::Holes: {
        write(path, contentOf(content, data, size));
        if (::truncate(path.c_str(), off_t{1} << content % 42) != 0) fs::remove(path, ignored);
        return;
      }
      case Kind::Folder:
        fs::create_directory(path, ignored);
        return write(path / "1-0.lcr", contentOf(content, data, size));
      case Kind::Link:
        return fs::create_symlink(targetOf(content, path), path, ignored);
      case Kind::Pipe:
        if (::mkfifo(path.c_str(), 0600) != 0) fs::remove(path, ignored);
        return;
      case Kind::HardLink:
        return fs::create_hard_link(home_ / "canary" / "precious", path, ignored);
      default:
        return;
    }
  }

  /// One of the sound files with patches, or the bytes themselves.
  [[nodiscard]] std::string contentOf(std::uint8_t number, const std::uint8_t* data,
                                      std::size_t size) const {
    const std::size_t which = number % (contents_.size() + 1);
    if (which == contents_.size()) return {reinterpret_cast<const char*>(data), size};
    std::string content = contents_[which];
    fuzz::forEachPatch(data, size, [&](const fuzz::Patch& patch) { patch.apply(content); });
    return content;
  }

  [[nodiscard]] fs::path targetOf(std::uint8_t number, const fs::path& own) const {
    const fs::path canary = home_ / "canary";
    const std::array<fs::path, 12> targets = {
        canary,
        canary / "settings",
        canary / "1-0.lcr",
        own,
        ".",
        "..",
        "../canary",
        shared_,
        shared_ / "1-0.lcr",
        home_ / "gone",
        shared_.string() + "/../" + home_.filename().string() + "/canary",
        home_ / "tmp"};
    return targets[number % targets.size()];
  }

  void recover(bool keep) const {
    const fs::path trace = home_ / "out" / "trace.lcn";
    const auto stats = collector::recover(recording_, trace, keep);
    mustKeepWhatIsForeign();
    if (fs::exists(trace)) {
      const auto reader = prof::Reader::open(trace);
      must(reader.ok() && (*reader).complete() && (*reader).damage().empty(),
           "the trace is not whole");
    } else {
      must(!stats.ok() && !stats.error().message.empty(),
           "no trace was written, and no reason given");
    }
    if (keep || !fs::exists(trace)) {
      must(treeOf(recording_) == before_.recording, "the recording is not as it was");
      must(treeOf(shared_) == before_.shared, "the segments are not as they were");
    }
    must(std::distance(fs::directory_iterator(home_ / "out"), {}) == (fs::exists(trace) ? 1 : 0),
         "drafts were left");
  }

  void checkForLeftovers() const {
    // Its owner is there, as it was recorded.
    const bool wanted = isSound(recording_ / prof::recording::kSettingsFile) &&
                        isSound(shared_ / prof::recording::kOwnerFile);
    for (const prof::Leftover& leftover : prof::findLeftovers()) {
      const bool ours =
          leftover.folder == shared_ || leftover.folder.string().starts_with(home_.string());
      if (isolated_ || ours) (void)prof::removeLeftover(leftover);
    }
    mustKeepWhatIsForeign();
    must(treeOf(recording_) == before_.recording, "the recording is not as it was");
    if (wanted)
      must(treeOf(shared_) == before_.shared,
           "segments that a recording wants are not as they were");
  }

  void create() const {
    const bool empty = before_.recording.empty();
    const auto created = prof::createRecording(recording_);
    mustKeepWhatIsForeign();
    must(!created.ok() || empty, "a recording was made where something was");
    if (!created.ok())
      must(treeOf(recording_) == before_.recording, "what was there is not as it was");
    if (created.ok()) (void)prof::removeRecording(recording_);
  }

  [[nodiscard]] bool isSound(const fs::path& path) const {
    for (const Sound& one : sound_) {
      if (one.path == path)
        return describe(path) == "file " + std::to_string(one.bytes.size()) + " " + one.bytes;
    }
    return false;
  }

  void mustKeepWhatIsForeign() const {
    must(treeOf(home_ / "canary") == before_.canary, "something beside the recording was changed");
    for (const Tree* tree : {&before_.recording, &before_.shared, &before_.temporary}) {
      for (const auto& [path, was] : *tree) {
        for (const char* name : kForeign) {
          if (fs::path(path).filename() != name) continue;
          must(describe(path) == was, "a file that no recording makes was changed");
        }
      }
    }
  }

  struct Sound {
    fs::path path;
    std::string bytes;
  };

 public:
  static inline bool gIsolated = false;

 private:
  bool isolated_;
  fs::path home_, recording_, shared_;
  std::array<fs::path, 4> places_;
  std::vector<Sound> sound_;
  std::vector<std::string> contents_;
  Before before_;
};

}  // namespace

/// Before there are threads, which could not be moved with it.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  Victim::gIsolated = isolate();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Victim victim;
  victim.attack(data, size);
  return 0;
}
