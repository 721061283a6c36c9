// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "standby/job_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

#include "lacuna/prof/process.h"

namespace lacuna::collector::standby {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankPrefix = "rank-";
constexpr std::string_view kCapturePrefix = "capture-";
constexpr std::string_view kLockFile = "trigger.lock";
constexpr std::size_t kMostBytes = 16384;
constexpr std::size_t kMostRanks = 65536;
constexpr const char* kEnd = "end";

constexpr std::array kPhases{"none", "ask", "go", "stop"};
constexpr std::array kStates{"standby",   "ready",    "armed", "missed",
                             "recording", "finished", "failed"};

/// Lines of a key and its value; the last one shows that the file is whole.
class Lines {
 public:
  template <class Value>
  void add(std::string_view key, const Value& value) {
    text_ += fmt::format("{} {}\n", key, value);
  }
  void add(std::string_view key, const Address& address) {
    add(fmt::format("{}.host", key), address.host);
    add(fmt::format("{}.boot", key), address.boot);
    add(fmt::format("{}.pid", key), address.pid);
    add(fmt::format("{}.namespace", key), address.pidNamespace);
  }
  [[nodiscard]] std::string finished() const { return text_ + kEnd + "\n"; }

 private:
  std::string text_;
};

class Values {
 public:
  static std::optional<Values> of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    Values found;
    std::size_t bytes = 0;
    for (std::string line; std::getline(file, line) && (bytes += line.size() + 1) <= kMostBytes;) {
      if (line == kEnd) return found;
      const std::size_t space = std::min(line.find(' '), line.size());
      found.values_[line.substr(0, space)] = line.substr(std::min(space + 1, line.size()));
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found != values_.end() ? found->second : std::string();
  }
  template <class Number>
  void number(const std::string& key, Number& into) const {
    const std::string value = text(key);
    std::from_chars(value.data(), value.data() + value.size(), into);
  }
  template <class Word, std::size_t Size>
  void word(const std::string& key, const std::array<const char*, Size>& words, Word& into) const {
    const auto at =
        std::ranges::find(words, text(key), [](const char* word) { return std::string(word); });
    if (at != words.end()) into = static_cast<Word>(at - words.begin());
  }
  [[nodiscard]] Address address(const std::string& key) const {
    Address found{text(key + ".host"), text(key + ".boot")};
    number(key + ".pid", found.pid);
    number(key + ".namespace", found.pidNamespace);
    return found;
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Whatever is in it stays one line.
std::string oneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Readers see the old file or the new one. It need not outlive the machine's power, so nothing
/// waits for the disk.
prof::Status writeText(const fs::path& path, const std::string& text) {
  const fs::path draft =
      path.parent_path() / fmt::format(".{}.{}", path.filename().string(), getpid());
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(draft.c_str(), path.c_str()) == 0) return {};
  const int code = errno;
  unlink(draft.c_str());
  return prof::Error{fmt::format(
      "cannot write {}: {}. Remedy: make room there, or use a folder that you may write.",
      path.string(), std::strerror(code))};
}

std::string firstLineOf(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number behind `prefix` in a file's name.
std::optional<std::uint32_t> numberBehind(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint32_t number = 0;
  const char* begin = name.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  return error == std::errc() && end != begin ? std::optional(number) : std::nullopt;
}

template <class Visit>
void forEachName(const fs::path& folder, Visit&& visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    visit(at->path().filename().string());
  }
}

}  // namespace

std::string Address::text() const {
  return fmt::format("process {} on {}", pid, host);
}

Address ownAddress() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {oneLine(host), firstLineOf("/proc/sys/kernel/random/boot_id"),
          static_cast<std::uint32_t>(getpid()), prof::ownPidNamespace()};
}

bool hasEnded(const Address& process) {
  if (process.boot != firstLineOf("/proc/sys/kernel/random/boot_id")) return false;
  const prof::OwnNumber number{process.pid, process.pidNamespace, 0};
  if (!prof::isForeign(number)) return !prof::processIsAlive(process.pid, 0);
  return prof::findProcess(number).where == prof::FoundProcess::Where::Gone;
}

prof::Status write(const fs::path& job, const Request& request) {
  Lines lines;
  lines.add("phase", kPhases[static_cast<std::size_t>(request.phase)]);
  lines.add("token", request.token);
  lines.add("number", request.number);
  lines.add("from", request.from);
  lines.add("steps", request.steps);
  lines.add("instead", request.instead);
  return writeText(job / kRequestFile, lines.finished());
}

std::optional<Request> readRequest(const fs::path& job) {
  const auto values = Values::of(job / kRequestFile);
  if (!values) return std::nullopt;
  Request request;
  values->word("phase", kPhases, request.phase);
  request.token = values->text("token");
  values->number("number", request.number);
  values->number("from", request.from);
  values->number("steps", request.steps);
  request.instead = values->text("instead");
  return request;
}

fs::path fileOf(const fs::path& job, const Rank& rank) {
  return job /
         fmt::format("{}{}-{}-{}", kRankPrefix, rank.rank, rank.process.host, rank.process.pid);
}

prof::Status write(const fs::path& job, const Rank& rank) {
  Lines lines;
  lines.add("rank", rank.rank);
  lines.add("world", rank.world);
  lines.add("process", rank.process);
  lines.add("keeper", rank.keeper);
  lines.add("step", rank.step);
  lines.add("step_ns", rank.stepNs);
  lines.add("state", kStates[static_cast<std::size_t>(rank.state)]);
  lines.add("token", rank.token);
  lines.add("file", oneLine(rank.file));
  lines.add("reason", oneLine(rank.reason));
  lines.add("beats", rank.beats);
  return writeText(fileOf(job, rank), lines.finished());
}

void removeRank(const fs::path& job, const Rank& rank) {
  std::error_code error;
  fs::remove(fileOf(job, rank), error);
}

std::optional<Rank> readRank(const fs::path& file) {
  const auto values = Values::of(file);
  if (!values) return std::nullopt;
  Rank rank;
  values->number("rank", rank.rank);
  values->number("world", rank.world);
  rank.process = values->address("process");
  rank.keeper = values->address("keeper");
  values->number("step", rank.step);
  values->number("step_ns", rank.stepNs);
  values->word("state", kStates, rank.state);
  rank.token = values->text("token");
  rank.file = values->text("file");
  rank.reason = values->text("reason");
  values->number("beats", rank.beats);
  return rank;
}

std::vector<Rank> readRanks(const fs::path& job) {
  std::vector<Rank> ranks;
  forEachName(job, [&](const std::string& name) {
    if (ranks.size() >= kMostRanks || !numberBehind(name, kRankPrefix)) return;
    auto rank = readRank(job / name);
    // A copy under another name is no rank of its own.
    if (rank && fileOf(job, *rank).filename() == name) ranks.push_back(*std::move(rank));
  });
  std::ranges::sort(ranks, {}, &Rank::rank);
  return ranks;
}

std::string captureName(std::uint32_t number, std::int32_t rank) {
  return fmt::format("{}{}.rank{}.lcn", kCapturePrefix, number, rank);
}

std::uint32_t nextCapture(const fs::path& job) {
  std::uint32_t last = 0;
  forEachName(job, [&](const std::string& name) {
    last = std::max(last, numberBehind(name, kCapturePrefix).value_or(0));
  });
  if (const auto request = readRequest(job)) last = std::max(last, request->number);
  return last + 1;
}

prof::Result<TriggerLock> TriggerLock::take(const fs::path& job) {
  const fs::path file = job / kLockFile;
  Lines lines;
  lines.add("process", ownAddress());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int fd = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0) {
      const std::string text = lines.finished();
      const bool written =
          ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      close(fd);
      if (written) return TriggerLock(file);
      unlink(file.c_str());
      return prof::Error{
          fmt::format("cannot write {}: no room. Remedy: make room there.", file.string())};
    }
    if (errno != EEXIST) {
      return prof::Error{
          fmt::format("cannot write {}: {}. Remedy: trigger as the user who runs the job.",
                      file.string(), std::strerror(errno))};
    }
    const auto holder = Values::of(file);
    const Address by = holder ? holder->address("process") : Address();
    if (!holder || !hasEnded(by)) {
      return prof::Error{
          fmt::format("another lacuna trigger is at work in {} ({}). Remedy: wait until it has "
                      "ended; if none runs, delete {}.",
                      job.string(), holder ? by.text() : "just begun", file.string())};
    }
    std::error_code error;
    fs::remove(file, error);
  }
  return prof::Error{
      fmt::format("another lacuna trigger has just begun in {}. Remedy: wait until it has ended.",
                  job.string())};
}

TriggerLock::~TriggerLock() {
  if (!file_.empty()) unlink(file_.c_str());
}

}  // namespace lacuna::collector::standby
