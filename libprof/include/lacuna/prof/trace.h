// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "lacuna/prof/announced.h"
#include "lacuna/prof/events.h"
#include "lacuna/prof/prof.h"

/// Recording from C++: scopes, sites that register themselves once, and any row of the event model.
/// The contract is that of prof.h. LACUNA_RANGE("load batch"); in a function records the rest of
/// the scope.
namespace lacuna::prof {

inline LacunaName name(std::string_view text) {
  return lacunaNameN(text.data(), text.size());
}

/// A name with its domain, category and colour, registered when it is first used. Keep it in static
/// storage.
class Site {
 public:
  constexpr explicit Site(const char* name, const char* domain = "", const char* category = "",
                          std::uint32_t colour = 0)
      : name_(name), domain_(domain), category_(category), colour_(colour) {}

  /// The word of the record that opens a range here.
  std::uint64_t push() {
    const std::uint64_t word = __atomic_load_n(&push_, __ATOMIC_ACQUIRE);
    return __builtin_expect(word != 0, 1) ? word : enroll();
  }
  /// The word of the record that closes it. Only after push().
  [[nodiscard]] std::uint64_t pop() const { return __atomic_load_n(&pop_, __ATOMIC_RELAXED); }
  LacunaName id() { return static_cast<LacunaName>(push()); }

 private:
  __attribute__((noinline, cold)) std::uint64_t enroll() {
    const LacunaName domain = name(domain_);
    const LacunaName site = lacunaSite(name(name_), domain, name(category_), colour_);
    __atomic_store_n(&pop_, lacunaWord_(LacunaRecordPop, domain, 0), __ATOMIC_RELAXED);
    const std::uint64_t word = lacunaWord_(LacunaRecordPush, domain, site);
    __atomic_store_n(&push_, word, __ATOMIC_RELEASE);
    return word;
  }
  static LacunaName name(const char* text) { return lacunaNameN(text, std::strlen(text)); }

  std::uint64_t push_ = 0;
  std::uint64_t pop_ = 0;
  const char* name_;
  const char* domain_;
  const char* category_;
  std::uint32_t colour_;
};

inline bool isRecording() {
  return lacunaOpenGate_() != nullptr;
}

/// A range as long as the scope. When recording begins or ends inside the scope, the half that was
/// on is recorded.
class ScopedRange {
 public:
  explicit ScopedRange(Site& site) {
    if (gate_ == nullptr) return;
    const std::uint64_t word = site.push();
    pop_ = site.pop();
    lacunaPut_(gate_, word);
  }
  /// A text that is not known beforehand; it is interned, which costs a hash.
  explicit ScopedRange(std::string_view text) {
    if (gate_ == nullptr) return;
    pop_ = lacunaWord_(LacunaRecordPop, 0, 0);
    lacunaRangePush(prof::name(text));
  }
  explicit ScopedRange(const LacunaEvent& event) {
    if (gate_ == nullptr) return;
    pop_ = lacunaWord_(LacunaRecordPop, event.domain, 0);
    lacunaRangePushEvent(&event);
  }
  ~ScopedRange() { lacunaPut_(gate_, pop_); }
  ScopedRange(const ScopedRange&) = delete;
  ScopedRange& operator=(const ScopedRange&) = delete;

 private:
  /// As it was when the scope began. The value it points to is kept up to date. When the recording
  /// ends meanwhile, or another begins, the scope's end takes the slow way, which looks again.
  const std::uint64_t* const gate_ = lacunaOpenGate_();
  std::uint64_t pop_ = 0;
};

namespace detail {
/// A row travels as its columns, packed one after the other.
constexpr std::size_t columnBytes(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return 1;
    case ColumnType::U16:
      return 2;
    case ColumnType::I32:
    case ColumnType::U32:
      return 4;
    default:
      return 8;
  }
}
template <class Row>
constexpr std::size_t packedBytes() {
  std::size_t bytes = 0;
  for (const ColumnSpec& column : Row::columns()) bytes += columnBytes(column.type);
  return bytes;
}
}  // namespace detail

extern "C" LACUNA_PROF_API void lacunaRow_(std::uint32_t table, const void* packed,
                                           std::size_t bytes);

/// Records a row of any table as it stands. Its times are CLOCK_MONOTONIC nanoseconds. Its ids
/// belong to this process and are renumbered when the recording is drained, so any numbering will
/// do that is consistent within the process: StringId: a LacunaName (a text); ThreadId: the
/// operating system's thread id; ProcessId: any non-zero value is this process; DeviceId, QueueId,
/// TrackId, FrameId: numbers of the caller's choice. Record a Device (with its uuid, so that
/// processes that use the same one agree), Queue, CounterTrack or StackFrame row before rows that
/// refer to it.
template <class Row>
void record(const Row& row) {
  static_assert(std::is_trivially_copyable_v<Row>);
  if (!isRecording()) return;
  unsigned char packed[detail::packedBytes<Row>()];
  unsigned char* to = packed;
  Row::forEachMember([&]<auto Member>() {
    std::memcpy(to, &(row.*Member), sizeof(row.*Member));
    to += sizeof(row.*Member);
  });
  lacunaRow_(Row::kTable, packed, sizeof packed);
}

/// Record `announced`, by this thread and now. The ranges end with lacunaDomainRangePop(domain).
extern "C" LACUNA_PROF_API void lacunaPushExecution_(LacunaName domain, LacunaName name,
                                                     LacunaName category,
                                                     const AnnouncedExecution* announced);
extern "C" LACUNA_PROF_API void lacunaPushWait_(LacunaName domain, LacunaName name,
                                                LacunaName category,
                                                const AnnouncedWait* announced);
/// Records a AnnouncedMemory, in registers; `what` is its memoryWhat().
extern "C" LACUNA_PROF_API void lacunaMemory_(std::uint64_t address, std::uint64_t bytes,
                                              std::uint64_t sequence, LacunaName tensor,
                                              std::uint64_t what);
inline void recordMemory(const AnnouncedMemory& announced) {
  lacunaMemory_(announced.address, announced.bytes, announced.sequence, announced.tensor,
                memoryWhat(announced));
}

}  // namespace lacuna::prof

#define LACUNA_PROF_JOIN2(a, b) a##b
#define LACUNA_PROF_JOIN(a, b) LACUNA_PROF_JOIN2(a, b)
/// LACUNA_RANGE(name [, domain [, category [, colour]]]): a range from here to the end of the
/// scope. Constant texts. Its variable is not const: GCC keeps a const object with a constructor in
/// memory, which costs more than the test.
#define LACUNA_RANGE(...)                                                                      \
  static constinit ::lacuna::prof::Site LACUNA_PROF_JOIN(lacunaSiteAt, __LINE__)(__VA_ARGS__); \
  ::lacuna::prof::ScopedRange LACUNA_PROF_JOIN(lacunaRangeAt,                                  \
                                               __LINE__)(LACUNA_PROF_JOIN(lacunaSiteAt, __LINE__))
/// LACUNA_MARK(name): a moment. A constant text.
#define LACUNA_MARK(name)                                           \
  do {                                                              \
    if (::lacuna::prof::isRecording()) {                            \
      static constinit ::lacuna::prof::Site lacunaSiteOfMark(name); \
      lacunaMark(lacunaSiteOfMark.id());                            \
    }                                                               \
  } while (false)
