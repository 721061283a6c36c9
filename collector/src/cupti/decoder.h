// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupti/clock_map.h"
#include "cupti/row_sink.h"

namespace lacuna::collector::cupti {

/// Kinds of CUPTI 13.0, and room for those of later versions: a buffer that holds such a record is
/// read past it.
inline constexpr std::size_t kMostKinds = 256;
/// Size of a record of each kind as the library at hand writes it, 0 for a kind that it does not
/// know. The structures used here only ever grew at their end from CUPTI 12 on, so a shorter record
/// is a valid prefix.
using Strides = std::array<std::uint16_t, kMostKinds>;
/// The strides of the headers that this was compiled against.
Strides compiledStrides();

/// Counts of what was seen, and of what could not be used.
struct DecodeStats {
  std::uint64_t records = 0;
  std::uint64_t unknownKinds = 0;
  std::uint64_t nestedCalls = 0;     ///< of the driver within one of the runtime, or the reverse
  std::uint64_t zeroStart = 0;       ///< device work without a start stamp: left out
  std::uint64_t endBeforeStart = 0;  ///< kept with length 0
  std::uint64_t unfinished = 0;      ///< handed over before its end: kept, marked unfinished
};

/// The functions by which the decoder asks its surroundings. All of them may be called for any
/// record.
struct DecoderHooks {
  /// The text behind a pointer in a record, "" when there is none. The pointer is never followed
  /// here, so that captures and damaged buffers can be decoded with a table.
  std::function<std::string_view(const void* pointer)> text;
  /// The name of an API function ("cudaLaunchKernel_v7000").
  std::function<std::string(bool driver, std::uint32_t callbackId)> apiName;
  /// The name that people use for a symbol. Without it each is demangled here, as long as that may
  /// take: for symbols of programs that this process runs.
  std::function<std::string(const std::string& symbol)> plainName;
  const ClockMap* clock = nullptr;
  /// The threads in records are numbered by the system. Else they are nobody's whom the trace
  /// knows, and left out.
  bool systemThreads = true;
};

/// Turns CUPTI activity records into rows. The same records give the same rows on any machine. The
/// only state is the known contexts, devices and streams, and whatever the hooks do.
class Decoder {
 public:
  Decoder(RowSink& sink, DecoderHooks hooks) : sink_(sink), hooks_(std::move(hooks)) {}

  /// One record of `bytes` bytes, as long as its kind's stride. Reads nothing beyond them.
  void decode(const void* record, std::size_t bytes);
  /// All records of a buffer that lie back to back; the number of bytes that could be recognised as
  /// records. A launch is one row, although the runtime's call and the driver's call within it both
  /// have records: that of the runtime where both lie in the buffer, else of whichever came first.
  std::size_t decodeBuffer(const std::byte* buffer, std::size_t bytes, const Strides& strides);
  [[nodiscard]] const DecodeStats& stats() const { return stats_; }
  /// A counter of a device that comes from elsewhere; the stamp is of the clock of records.
  void counter(std::uint32_t cudaDevice, const char* name, const char* unit, std::uint64_t stamp,
               double value) {
    sample(cudaDevice, name, unit, stamp, value);
  }
  /// The devices that records have described, as CUDA numbers them: those that the process uses.
  [[nodiscard]] std::vector<std::uint32_t> devices() const;

 private:
  struct Span {
    prof::TimeNs startNs = 0;
    prof::TimeNs durNs = 0;
    std::uint8_t flags = 0;
  };
  void decodeOne(const void* record, std::size_t bytes);
  void kernel(const CUpti_ActivityKernel10& record);
  void memcpy(const CUpti_ActivityMemcpy6& record);
  void peerCopy(const CUpti_ActivityMemcpyPtoP4& record);
  void memset(const CUpti_ActivityMemset4& record);
  void api(const CUpti_ActivityAPI& record, bool driver);
  void sync(const CUpti_ActivitySynchronization2& record);
  void overhead(const CUpti_ActivityOverhead3& record);
  void memory(const CUpti_ActivityMemory4& record);
  void memoryPool(const CUpti_ActivityMemoryPool3& record);
  void device(const CUpti_ActivityDevice5& record);
  void context(const CUpti_ActivityContext3& record);
  void graph(const CUpti_ActivityGraphTrace2& record);
  void environment(const CUpti_ActivityEnvironment& record);

  bool spanOf(std::uint64_t start, std::uint64_t end, Span& span);
  prof::TimeNs at(std::uint64_t stampNs) const;
  [[nodiscard]] prof::ThreadId thread(std::uint32_t number) const {
    return prof::ThreadId(hooks_.systemThreads ? number : 0);
  }
  prof::DeviceId deviceId(std::uint32_t cudaDevice);
  prof::QueueId queueId(std::uint32_t cudaDevice, std::uint32_t context, std::uint32_t stream);
  prof::StringId kernelName(const void* pointer);
  prof::StringId apiName(bool driver, std::uint32_t callbackId);
  void sample(std::uint32_t cudaDevice, const char* name, const char* unit, std::uint64_t stamp,
              double value);

  RowSink& sink_;
  DecoderHooks hooks_;
  DecodeStats stats_;
  /// Gives the calls of the driver that wait for the runtime's call around them, all but `most`.
  void releaseCalls(std::size_t most);
  void put(const prof::ApiCall& call);

  /// A call of the driver waits here for the runtime's call around it. That record follows at once,
  /// where there is one.
  static constexpr std::size_t kMostHeldCalls = 64;
  std::vector<prof::ApiCall> held_;
  /// The correlations of late calls that became rows. The correlation gives the place.
  static constexpr std::size_t kLateCalls = std::size_t{1} << 14;
  std::vector<std::uint64_t> lateCalls_ = std::vector<std::uint64_t>(kLateCalls);
  std::map<std::uint32_t, bool> devices_;  ///< CUDA device → described by a record of its own
  std::map<std::uint32_t, std::uint32_t> deviceOfContext_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, prof::QueueId> queues_;  ///< (context, stream)
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// By the text that CUPTI gives, never by its address: after a module is unloaded that may hold
  /// another.
  std::unordered_map<std::string, prof::StringId, TextHash, std::equal_to<>> kernelNames_;
  std::map<std::pair<bool, std::uint32_t>, prof::StringId> apiNames_;
  std::map<std::pair<std::uint32_t, std::string>, prof::TrackId> tracks_;
};

}  // namespace lacuna::collector::cupti
