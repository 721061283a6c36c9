// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "import/chrome/chrome_assembly.h"
#include "import/chrome/json_walker.h"
#include "import/event_windows.h"
#include "import/importers.h"

namespace lacuna::analyzer {
namespace {

/// Workers take pieces of the file in turn, turn them into rows side by side, and append the rows
/// in the order of the file.
class ChromeImport {
 public:
  ChromeImport(EventWindows& windows, const OpenOptions& options)
      : windows_(windows), options_(options) {}

  prof::Status run();
  ChromeAssembly& assembly() { return assembly_; }
  /// The first problem, with its place in the file; empty when there was none.
  [[nodiscard]] const std::string& firstProblem() const { return firstProblem_; }

 private:
  struct Worker {
    explicit Worker(const ChromeRows::DeviceSizes& sizes) : rows(sizes) {}
    ChromeRows rows;
    ChromeAssembly::Mapping mapping;
    JsonWalker walker;
  };

  void readHead();
  void readMembers(const std::string& object, const std::string& where);
  void readTail();
  void work(Worker& worker);
  void readPieces(Worker& worker);
  bool take(EventWindow& window);
  void append(Worker& worker, EventWindow& window, JsonWalker::Outcome outcome);
  void report(std::string problem);
  void reportRepaired(const JsonWalker::Outcome& outcome);
  JsonWalker::Outcome parse(Worker& worker, const EventWindow& window);

  EventWindows& windows_;
  const OpenOptions& options_;
  ChromeAssembly assembly_;
  ChromeRows::DeviceSizes sizes_;

  std::mutex readMutex_;
  std::mutex turnMutex_;
  std::condition_variable turnChanged_;
  std::uint64_t turn_ = 0;
  bool cancelled_ = false;
  bool outOfMemory_ = false;  ///< guarded by turnMutex_; no turn comes then
  // Guarded by whose turn it is.
  bool listEnded_ = false;
  EventWindow unread_;  ///< text that an earlier piece could not finish
  bool hasUnread_ = false;
  std::string tail_;
  std::uint64_t tailOffset_ = 0;
  std::string firstProblem_;
  std::uint64_t repairedEvents_ = 0;
};

void ChromeImport::readMembers(const std::string& object, const std::string& where) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::object members;
  const auto parse = [&](const std::string& text) {
    return parser.parse(simdjson::padded_string(text)).get(root) == simdjson::SUCCESS;
  };
  if ((!parse(object) && !parse(repairedJson(object))) || root.get(members) != simdjson::SUCCESS) {
    assembly_.builder().addWarning(where + " is not well-formed JSON and was left out");
    return;
  }
  for (const auto member : members) {
    assembly_.addMember(member.key, simdjson::minify(member.value));
    if (member.key != "deviceProperties") continue;
    simdjson::dom::array devices;
    if (member.value.get(devices) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element device : devices) {
      std::uint64_t id = 0;
      std::uint64_t size = 0;
      if (device["id"].get(id) == simdjson::SUCCESS &&
          device["numSms"].get(size) == simdjson::SUCCESS) {
        sizes_[static_cast<std::uint32_t>(id)] = static_cast<std::uint32_t>(size);
      }
    }
  }
}

void ChromeImport::readHead() {
  std::string head = windows_.head();
  if (head.empty()) return;
  const std::size_t end = head.find_last_not_of(" \t\r\n,");
  readMembers(head.substr(0, end + 1) + "}", "what stands before the event list");
}

bool ChromeImport::take(EventWindow& window) {
  const std::scoped_lock lock(readMutex_);
  if (cancelled_ || !windows_.next(window)) return false;
  if (options_.progress && !options_.progress(windows_.progress())) cancelled_ = true;
  return true;  // also when cancelled: the others wait for this piece's turn
}

JsonWalker::Outcome ChromeImport::parse(Worker& worker, const EventWindow& window) {
  worker.rows.clearRows();
  return worker.walker.walk(window.view(), window.offset,
                            [&](const RawEvent& event) { worker.rows.add(event); });
}

void ChromeImport::report(std::string problem) {
  if (firstProblem_.empty()) firstProblem_ = problem;
  assembly_.builder().addWarning(std::move(problem));
}

void ChromeImport::reportRepaired(const JsonWalker::Outcome& outcome) {
  for (const auto& problem : outcome.repaired) {
    if (repairedEvents_++ < JsonWalker::kMostNamed)
      report(fmt::format("byte {}: {}", problem.offset, problem.what));
  }
  repairedEvents_ += outcome.repairedEvents - outcome.repaired.size();
}

/// Runs in the turn of `window`. A piece that did not end between events is joined with the next
/// one.
void ChromeImport::append(Worker& worker, EventWindow& window, JsonWalker::Outcome outcome) {
  if (listEnded_) {
    if (tail_.size() < windows_.mostBytes()) tail_ += window.gap + std::string(window.view());
    return;
  }
  if (hasUnread_) {
    EventWindow joined;
    joined.offset = unread_.offset;
    joined.text = std::string(unread_.view()) + window.gap + std::string(window.view());
    joined.size = joined.text.size();
    joined.text.resize(joined.size + JsonWalker::kPadding, ' ');
    joined.last = window.last;
    joined.share = window.share;
    window = std::move(joined);
    hasUnread_ = false;
    outcome = parse(worker, window);
  }
  assembly_.merge(worker.rows, worker.mapping, window.share);
  for (const auto& problem : outcome.problems) {
    report(fmt::format("byte {}: {}", problem.offset, problem.what));
  }
  reportRepaired(outcome);
  if (outcome.listEnded) {
    listEnded_ = true;
    tail_ = window.view().substr(outcome.endOffset);
    tailOffset_ = window.offset + outcome.endOffset;
  } else if (outcome.incomplete && !window.last &&
             window.size - outcome.endOffset < windows_.mostBytes()) {
    hasUnread_ = true;
    unread_ = {};
    unread_.offset = window.offset + outcome.endOffset;
    unread_.text = window.view().substr(outcome.endOffset);
    unread_.size = unread_.text.size();
  } else if (outcome.incomplete || (window.last && !windows_.isBareList())) {
    report(
        fmt::format("the file ends early: the event list breaks off at byte {}; the complete part "
                    "before it was read",
                    window.offset + outcome.endOffset));
  }
}

void ChromeImport::work(Worker& worker) {
  try {
    readPieces(worker);
  } catch (const std::bad_alloc&) {
    const std::scoped_lock lock(turnMutex_);
    outOfMemory_ = true;
    turnChanged_.notify_all();
  }
}

void ChromeImport::readPieces(Worker& worker) {
  EventWindow window;
  while (take(window)) {
    const std::uint64_t number = window.number;
    auto outcome = parse(worker, window);
    std::unique_lock lock(turnMutex_);
    turnChanged_.wait(lock, [&] { return turn_ == number || outOfMemory_; });
    if (outOfMemory_) return;
    append(worker, window, std::move(outcome));
    ++turn_;
    turnChanged_.notify_all();
  }
}

/// Reads what follows the list: further members, and the end of the object that it is a member of.
void ChromeImport::readTail() {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = tail_.find_first_not_of(kSpaces);
  if (first == std::string::npos) return;
  const std::string where =
      fmt::format("byte {}: what stands behind the event list", tailOffset_ + first);
  if (tail_[first] == ',' && !windows_.isBareList())
    return readMembers("{" + tail_.substr(first + 1), where);
  if (tail_[first] != '}' || windows_.isBareList() ||
      tail_.find_first_not_of(kSpaces, first + 1) != std::string::npos)
    assembly_.builder().addWarning(where + " was left out");
}

prof::Status ChromeImport::run() {
  readHead();
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < std::max(1U, options_.threads); ++i)
    workers.push_back(std::make_unique<Worker>(sizes_));
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i)
    threads.emplace_back([&, i] { work(*workers[i]); });
  work(*workers[0]);
  for (auto& thread : threads) thread.join();
  if (outOfMemory_) return prof::Error{"there is not enough memory to read it"};
  if (cancelled_) return prof::Error{"the import was cancelled"};
  if (repairedEvents_ > JsonWalker::kMostNamed) {
    report(fmt::format("{} more events hold bytes that are no UTF-8 or bare control characters",
                       repairedEvents_ - JsonWalker::kMostNamed));
  }
  if (!windows_.problem().empty()) assembly_.builder().addWarning(windows_.problem());
  readTail();
  return {};
}

/// A line feed and a bracket alone may also be the size of a Perfetto packet: there text must
/// follow as JSON has it.
bool looksLikeJson(std::string_view head) {
  const bool mayBePacket = head.front() == '\n';
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::size_t bracket = head.find_first_not_of(" \t\r\n");
  if (bracket == std::string_view::npos || (head[bracket] != '{' && head[bracket] != '['))
    return false;
  const std::size_t next = head.find_first_not_of(" \t\r\n", bracket + 1);
  return !mayBePacket || next == std::string_view::npos ||
         std::string_view("\"{}[]").find(head[next]) != std::string_view::npos;
}

}  // namespace

StoreResult importChrome(const std::filesystem::path& path, const OpenOptions& options,
                         const WindowSizes& sizes) {
  auto source = ByteSource::open(path, options.budget);
  if (!source) return source.error();
  EventWindows windows(std::move(*source), sizes);
  if (const auto status = windows.findList(); !status) {
    return prof::Error{
        fmt::format("{}: is JSON, but not a trace: {}", path.string(), status.error().message)};
  }
  ChromeImport import(windows, options);
  if (const auto status = import.run(); !status) {
    return prof::Error{fmt::format("{}: {}", path.string(), status.error().message)};
  }
  if (import.assembly().events() == 0) {
    const std::string& why = windows.problem().empty() ? import.firstProblem() : windows.problem();
    return prof::Error{
        fmt::format("{}: the trace has no events{}", path.string(), why.empty() ? "" : ": " + why)};
  }
  return import.assembly().finish(path, options.threads);
}

constinit const Importer kJsonImporter{
    .kind = SourceKind::Json,
    .name = "Kineto or Chrome JSON",
    .plural = "Kineto and Chrome JSON",
    .recognises = looksLikeJson,
    .open = [](const std::filesystem::path& path,
               const OpenOptions& options) { return importChrome(path, options); },
};

}  // namespace lacuna::analyzer
