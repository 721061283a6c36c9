// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::analyzer {

/// One event of a trace in Chrome's format, as tokens that point into the window (strings with
/// their quotes); what the event does not have is empty.
struct RawEvent {
  struct Member {
    std::string_view key;  ///< without quotes, escapes as written
    std::string_view value;
  };
  char phase = 0;
  std::string_view cat, name, pid, tid, ts, dur, id;
  /// The members of args, and the event's further fields (bp, s, …).
  std::vector<Member> args, fields;
  bool hasArgs = false;
  /// The event itself, and where it starts in the text of the file.
  std::string_view text;
  std::uint64_t offset = 0;

  void clear();
};

/// Walks the events of a piece of a trace's event list. Finds the structure with simdjson's first
/// stage and reads it in place, so the tokens cost no copy. Reused from piece to piece; one thread
/// at a time.
class JsonWalker {
 public:
  JsonWalker();
  ~JsonWalker();

  struct Problem {
    std::uint64_t offset = 0;
    std::string what;
  };
  struct Outcome {
    /// The list ended inside the text, before endOffset.
    bool listEnded = false;
    /// The text ends inside an event that starts at endOffset (more text may complete it).
    bool incomplete = false;
    /// Where reading ended, in bytes from the start of the text.
    std::size_t endOffset = 0;
    std::vector<Problem> problems;
    /// Events with bytes that JSON cannot hold, which read as '?' and spaces: the first of them,
    /// and how many there are.
    std::vector<Problem> repaired;
    std::uint64_t repairedEvents = 0;
  };
  static constexpr std::size_t kMostNamed = 8;
  /// `text` starts at an event (or at the list's end) and must be followed by kPadding readable
  /// bytes. `fileOffset` is where it starts in the file. Events that are not well-formed are left
  /// out and reported.
  Outcome walk(std::string_view text, std::uint64_t fileOffset,
               const std::function<void(const RawEvent&)>& visit);

  static constexpr std::size_t kPadding = 64;

 private:
  struct Stage1;
  enum class Read { Event, ListEnd, TextEnd, Malformed };

  bool index(std::string_view text);
  bool indexRepaired(std::string_view& text);
  Read readEvent(std::string_view text, RawEvent& event);
  template <class Take>
  bool readObject(std::string_view text, Take&& take);
  bool readKey(std::string_view text, std::string_view& key);
  bool readField(std::string_view text, std::string_view key, RawEvent& event);
  bool skipValue(std::string_view text, std::string_view& token);
  bool skipList(std::string_view text, std::string_view& token);
  [[nodiscard]] std::string_view scalar(std::string_view text) const;
  [[nodiscard]] Problem lostEvent(std::string_view whole, std::size_t from,
                                  std::uint64_t fileOffset) const;
  void skipTo(std::size_t offset);

  std::unique_ptr<Stage1> stage1_;
  /// Where in the text structure is: all of it, and what is still to be read.
  const std::uint32_t* structure_ = nullptr;
  const std::uint32_t* at_ = nullptr;
  const std::uint32_t* end_ = nullptr;
  std::string repairedText_;
  std::string_view bare_;  ///< what stood where a value must, of the event read last
};

/// The text with '?' in place of bytes that are no UTF-8, and spaces in place of control characters
/// inside strings. Some writers put these into names, and no parser takes them. As long as `given`.
std::string repairedJson(std::string_view given);

/// The position of the last place in `text` where an event seems to begin right after another one;
/// npos when there is none. `gapStart` is where the event before it ends. A guess: the walk shows
/// if it was right.
std::size_t lastEventStart(std::string_view text, std::size_t& gapStart);
/// The same, forward, from `from`.
std::size_t nextEventStart(std::string_view text, std::size_t from, std::size_t& gapStart);

}  // namespace lacuna::analyzer
