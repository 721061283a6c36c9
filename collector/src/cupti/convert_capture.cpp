// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "cupti/capture.h"
#include "cupti/row_sink.h"
#include "lacuna/collector/capture.h"
#include "lacuna/prof/writer.h"
#include "symbols/demangle_apart.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// Brings the rows of several processes into one trace: gives each process, thread, device, queue
/// and track a number that is its own there.
class TraceSink : public cupti::RowSink {
 public:
  explicit TraceSink(prof::Writer& writer) : writer_(writer) {}

  void startProcess(std::uint32_t osPid) {
    process_ = {};
    process_.id = prof::ProcessId(++processes_);
    process_.osPid = osPid;
    process_.exitCode = -1;
    process_.rank = -1;
    threads_.clear();
    devices_.clear();
    described_.clear();
    queues_.clear();
    tracks_.clear();
  }
  void endProcess() {
    process_.name = writer_.intern("CUDA process");
    writer_.append(process_);
    for (const auto& [id, device] : described_) writer_.append(device);
    for (const auto& [osTid, thread] : threads_) writer_.append(thread);
  }

  prof::StringId name(std::string_view text) override { return writer_.intern(text); }
  void put(const prof::Device& row) override {
    prof::Device own = row;
    own.id = device(row.id);
    // Work may come before the record that describes its device, and a trace holds a device once.
    prof::Device& known = described_[own.id];
    if (!known.id || row.name) known = own;
  }
  void put(const prof::Queue& row) override {
    prof::Queue own = row;
    own.id = queue(row.id);
    own.device = device(row.device);
    own.process = process_.id;
    writer_.append(own);
  }
  void put(const prof::Kernel& row) override { putWork(row); }
  void put(const prof::Memcpy& row) override {
    prof::Memcpy own = row;
    own.peer = device(row.peer);
    putWork(own);
  }
  void put(const prof::Memset& row) override { putWork(row); }
  void put(const prof::ApiCall& row) override {
    prof::ApiCall own = row;
    own.thread = thread(row.thread, row.startNs, row.durNs);
    writer_.append(own);
  }
  void put(const prof::Sync& row) override {
    prof::Sync own = row;
    own.thread = thread(row.thread, row.startNs, row.durNs);
    own.queue = queue(row.queue);
    own.device = device(row.device);
    writer_.append(own);
  }
  void put(const prof::GraphNode& row) override {
    prof::GraphNode own = row;
    own.thread = thread(row.thread, row.timeNs, 0);
    writer_.append(own);
  }
  void put(const prof::Allocation& row) override {
    prof::Allocation own = row;
    own.thread = thread(row.thread, row.timeNs, 0);
    own.queue = queue(row.queue);
    own.device = device(row.device);
    writer_.append(own);
  }
  void put(const prof::Overhead& row) override {
    prof::Overhead own = row;
    own.thread = thread(row.thread, row.startNs, row.durNs);
    writer_.append(own);
  }
  void put(const prof::CounterTrack& row) override {
    prof::CounterTrack own = row;
    own.id = renumber(tracks_, row.id, trackCount_);
    own.process = process_.id;
    own.device = device(row.device);
    writer_.append(own);
  }
  void put(const prof::CounterSample& row) override {
    prof::CounterSample own = row;
    own.track = renumber(tracks_, row.track, trackCount_);
    writer_.append(own);
  }

 private:
  template <class Id>
  static Id renumber(std::map<Id, Id>& known, Id id, std::uint32_t& count) {
    if (!id) return id;
    const auto [entry, isNew] = known.try_emplace(id);
    if (isNew) entry->second = Id(++count);
    return entry->second;
  }
  prof::DeviceId device(prof::DeviceId id) { return renumber(devices_, id, deviceCount_); }
  prof::QueueId queue(prof::QueueId id) { return renumber(queues_, id, queueCount_); }

  prof::ThreadId thread(prof::ThreadId id, prof::TimeNs startNs, prof::TimeNs durNs) {
    see(startNs, startNs + durNs);
    if (!id) return id;
    const auto [entry, isNew] = threads_.try_emplace(id);
    prof::Thread& row = entry->second;
    if (isNew) {
      row.id = prof::ThreadId(++threadCount_);
      row.process = process_.id;
      row.osTid = id.value;
      row.startNs = startNs;
    }
    row.startNs = std::min(row.startNs, startNs);
    row.endNs = std::max(row.endNs, startNs + durNs);
    return row.id;
  }
  void see(prof::TimeNs startNs, prof::TimeNs endNs) {
    process_.startNs = process_.startNs == 0 ? startNs : std::min(process_.startNs, startNs);
    process_.endNs = std::max(process_.endNs, endNs);
  }
  template <class Row>
  void putWork(const Row& row) {
    Row own = row;
    own.queue = queue(row.queue);
    own.device = device(row.device);
    see(row.startNs, row.startNs + row.durNs);
    writer_.append(own);
  }

  prof::Writer& writer_;
  prof::Process process_;
  std::map<prof::ThreadId, prof::Thread> threads_;
  std::map<prof::DeviceId, prof::DeviceId> devices_;
  std::map<prof::QueueId, prof::QueueId> queues_;
  std::map<prof::TrackId, prof::TrackId> tracks_;
  std::map<prof::DeviceId, prof::Device> described_;
  std::uint32_t processes_ = 0;
  std::uint32_t threadCount_ = 0;
  std::uint32_t deviceCount_ = 0;
  std::uint32_t queueCount_ = 0;
  std::uint32_t trackCount_ = 0;
};

std::vector<fs::path> filesOf(const fs::path& capture) {
  std::error_code error;
  if (!fs::is_directory(capture, error)) return {capture};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(capture, error)) {
    if (entry.path().extension() == ".raw" && isRawCapture(entry.path()))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The process id is in the file's name: cupti-4711.raw, and cupti-4711-2.raw of the next program
/// of that process.
std::uint32_t processOf(const fs::path& file) {
  const std::string stem = file.stem().string();
  const auto dash = stem.find('-');
  return dash == std::string::npos
             ? 0
             : static_cast<std::uint32_t>(std::atoll(stem.c_str() + dash + 1));
}

void noteOddities(const fs::path& file, const cupti::DecodeStats& stats, CaptureReport& report) {
  const auto note = [&](std::uint64_t count, const char* what) {
    if (count > 0) report.notes.push_back(file.string() + ": " + std::to_string(count) + what);
  };
  note(stats.zeroStart, " device events have no start time; they are left out");
  note(stats.endBeforeStart, " device events end before they start; their length is 0");
  note(stats.unfinished,
       " device events were handed over before they had ended; they are marked unfinished");
  note(stats.unknownKinds,
       " buffers hold a kind of record that is not known; their rest is left out");
}

/// For all texts of the capture: a hostile one may hold symbols that would keep this process busy
/// for hours.
symbols::PlainNames plainNamesOf(const cupti::Capture& capture, symbols::DemangleLimits& limits) {
  std::set<std::string_view> texts;
  for (const cupti::Capture::Text& text : capture.texts) texts.insert(text.text);
  return symbols::demangleApart(texts, limits);
}

void noteLeft(const fs::path& file, const symbols::PlainNames& plain, CaptureReport& report) {
  if (plain.left == 0) return;
  report.notes.push_back(
      file.string() +
      ": names of kernels that stay mangled, as their plain form takes too much time or memory: " +
      std::to_string(plain.left));
}

}  // namespace

prof::Result<CaptureReport> convertCapture(const fs::path& capture, const fs::path& output) {
  CaptureReport report;
  const auto files = filesOf(capture);
  if (files.empty())
    return prof::Error{capture.string() + " holds no raw CUPTI capture (cupti-PID.raw)"};
  auto writer = prof::Writer::create(output);
  if (!writer) return writer.error();
  TraceSink sink(*writer);
  symbols::DemangleLimits limits;
  for (const fs::path& file : files) {
    std::string complaint;
    const auto content = cupti::readCapture(file.string(), &complaint);
    if (!content) return content.error();
    if (!complaint.empty()) report.notes.push_back(file.string() + ": " + complaint);
    const auto plain = plainNamesOf(*content, limits);
    sink.startProcess(processOf(file));
    const auto stats = cupti::replay(*content, sink, [&](const std::string& symbol) {
      const auto found = plain.names.find(symbol);
      return found != plain.names.end() ? found->second : symbol;
    });
    sink.endProcess();
    noteOddities(file, stats, report);
    noteLeft(file, plain, report);
    report.records += stats.records;
    ++report.files;
  }
  report.rows = writer->rowsAppended();
  if (auto status = writer->finish(); !status) return status.error();
  return report;
}

}  // namespace lacuna::collector
