// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/perf_record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cstring>

namespace lacuna::collector::sampler {
namespace {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string getText() {
    const auto* text = reinterpret_cast<const char*>(bytes_.data());
    return {text, strnlen(text, bytes_.size())};
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

/// tid, time and cpu stand at the end of every record that is no sample.
constexpr std::size_t kTrailer = 24;

bool readTrailer(std::span<const std::byte>& bytes, PerfRecord& out) {
  if (bytes.size() < sizeof(perf_event_header) + kTrailer) return false;
  Cursor trailer(bytes.last(kTrailer));
  out.pid = trailer.get<std::uint32_t>();
  out.tid = trailer.get<std::uint32_t>();
  out.timeNs = static_cast<prof::TimeNs>(trailer.get<std::uint64_t>());
  out.cpu = trailer.get<std::uint32_t>();
  bytes = bytes.subspan(sizeof(perf_event_header));
  bytes = bytes.first(bytes.size() - kTrailer);
  return true;
}

bool readSample(std::span<const std::byte> bytes, PerfRecord& out) {
  Cursor at(bytes.subspan(sizeof(perf_event_header)));
  out.pid = at.get<std::uint32_t>();
  out.tid = at.get<std::uint32_t>();
  out.timeNs = static_cast<prof::TimeNs>(at.get<std::uint64_t>());
  out.cpu = at.get<std::uint32_t>();
  at.get<std::uint32_t>();
  const auto count = at.get<std::uint64_t>();
  if (!at.ok() || count > bytes.size() / 8) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto address = at.get<std::uint64_t>();
    // The largest numbers are marks between the kernel's part and the user's.
    if (address < static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) out.frames.push_back(address);
  }
  return at.ok();
}

}  // namespace

bool decodePerfRecord(std::span<const std::byte> bytes, PerfRecord& out) {
  if (bytes.size() < sizeof(perf_event_header)) return false;
  perf_event_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size != bytes.size()) return false;
  out = {};
  if (header.type == PERF_RECORD_SAMPLE) {
    out.kind = PerfRecord::Kind::Sample;
    return readSample(bytes, out);
  }
  if (!readTrailer(bytes, out)) return false;
  Cursor at(bytes);
  switch (header.type) {
    case PERF_RECORD_SWITCH:
      out.kind = PerfRecord::Kind::Switch;
      out.out = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      out.preempted = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
      return true;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      out.kind = header.type == PERF_RECORD_FORK ? PerfRecord::Kind::Fork : PerfRecord::Kind::Exit;
      out.pid = at.get<std::uint32_t>();
      out.parentPid = at.get<std::uint32_t>();
      out.tid = at.get<std::uint32_t>();
      return at.ok();
    case PERF_RECORD_COMM:
      out.kind = PerfRecord::Kind::Comm;
      out.exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      out.pid = at.get<std::uint32_t>();
      out.tid = at.get<std::uint32_t>();
      out.text = at.getText();
      return at.ok();
    case PERF_RECORD_MMAP2: {
      out.kind = PerfRecord::Kind::Map;
      out.pid = at.get<std::uint32_t>();
      out.tid = at.get<std::uint32_t>();
      out.address = at.get<std::uint64_t>();
      out.length = at.get<std::uint64_t>();
      out.offset = at.get<std::uint64_t>();
      out.device = std::uint64_t{at.get<std::uint32_t>()} << 32;
      out.device |= at.get<std::uint32_t>();
      out.inode = at.get<std::uint64_t>();
      at.get<std::uint64_t>();  // its generation
      const auto protection = at.get<std::uint32_t>();
      at.get<std::uint32_t>();
      out.text = at.getText();
      return at.ok() && (protection & PROT_EXEC) != 0;
    }
    case PERF_RECORD_LOST:
      out.kind = PerfRecord::Kind::Lost;
      at.get<std::uint64_t>();
      out.lost = at.get<std::uint64_t>();
      return at.ok();
    default:
      return false;
  }
}

}  // namespace lacuna::collector::sampler
