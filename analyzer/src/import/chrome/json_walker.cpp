// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/json_walker.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

/// Most bytes of a bare word in a message.
constexpr std::size_t kShownBytes = 40;

bool isSpace(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

constexpr std::array<std::string_view, 14> kEventKeys = {"ph", "name",  "cat",  "pid", "tid",
                                                         "ts", "dur",   "args", "id",  "s",
                                                         "bp", "cname", "tts",  "tdur"};

/// The thing that begins at a character where simdjson's first stage found structure.
enum class Role : std::uint8_t { Scalar, Text, Separator, Open, Close };

constexpr auto kRoles = [] {
  std::array<Role, 256> roles{};
  roles['"'] = Role::Text;
  roles[','] = roles[':'] = Role::Separator;
  roles['{'] = roles['['] = Role::Open;
  roles['}'] = roles[']'] = Role::Close;
  return roles;
}();

Role roleOf(char c) {
  return kRoles[static_cast<unsigned char>(c)];
}

constexpr std::uint8_t kDigit = 1, kInNumber = 2, kInNoNumber = 4;

constexpr auto kNumberParts = [] {
  std::array<std::uint8_t, 256> parts{};
  parts.fill(kInNoNumber);
  for (const char c : std::string_view("+-.eE")) parts[static_cast<unsigned char>(c)] = kInNumber;
  for (const char c : std::string_view("0123456789")) parts[static_cast<unsigned char>(c)] = kDigit;
  return parts;
}();

/// A number or one of JSON's words, or of those that writers put in place of numbers that JSON does
/// not have.
bool isNumberOrWord(std::string_view token) {
  std::uint8_t parts = 0;
  for (const char c : token) parts |= kNumberParts[static_cast<unsigned char>(c)];
  if (parts < kInNoNumber) return (parts & kDigit) != 0;
  if (token.starts_with('-')) token.remove_prefix(1);
  for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity", "nan", "inf"}) {
    if (token == word) return true;
  }
  return false;
}

/// Up to 8 characters as one number, which distinguishes short names at once.
constexpr std::uint64_t wordOf(std::string_view name) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(name[i])} << i * 8;
  }
  return word;
}

/// The same of a name in a window, with room to read after it; 0 of a longer one.
std::uint64_t wordInWindow(std::string_view name) {
  static_assert(std::endian::native == std::endian::little);
  if (name.empty() || name.size() > sizeof(std::uint64_t)) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, name.data(), sizeof word);
  return word & ~std::uint64_t{0} >> (sizeof word - name.size()) * 8;
}

/// True when `text` at `at` reads `{ "key"` with a key that events have. A list of objects inside
/// args seldom looks so.
bool looksLikeEvent(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '{') return false;
  ++at;
  while (at < text.size() && isSpace(text[at])) ++at;
  if (at >= text.size() || text[at] != '"') return false;
  const std::string_view rest = text.substr(at + 1, 8);
  return std::any_of(kEventKeys.begin(), kEventKeys.end(), [&](std::string_view key) {
    return rest.size() > key.size() && rest.substr(0, key.size()) == key && rest[key.size()] == '"';
  });
}

/// True when an event seems to follow the '}' at `close`; then `start` is where.
bool eventFollows(std::string_view text, std::size_t close, std::size_t& start) {
  std::size_t at = close + 1;
  while (at < text.size() && isSpace(text[at])) ++at;
  if (at >= text.size() || text[at] != ',') return false;
  ++at;
  while (at < text.size() && isSpace(text[at])) ++at;
  start = at;
  return looksLikeEvent(text, at);
}

}  // namespace

std::string repairedJson(std::string_view given) {
  std::string text(given);
  bool inString = false;
  std::size_t opened = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto isSpoilt = [&](std::size_t i) {
      return static_cast<unsigned char>(text[i]) < 0x20 ||
             utf8SequenceLength(std::string_view(text).substr(i)) == 0;
    };
    if (static_cast<unsigned char>(c) >= 0x80) {
      const std::size_t length = utf8SequenceLength(std::string_view(text).substr(at));
      if (length == 0) text[at] = '?';
      at += length == 0 ? 0 : length - 1;
    } else if (c == '"') {
      inString = !inString;
      opened = at;
    } else if (!inString) {
      continue;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text[at] = ' ';
    } else if (c == '\\' && at + 1 < text.size()) {
      // A replaced character cannot be escaped.
      if (isSpoilt(at + 1)) {
        text[at] = ' ';
      } else if (static_cast<unsigned char>(text[at + 1]) < 0x80) {
        ++at;
      }
    } else if (c == '{' && looksLikeEvent(text, at)) {
      // No string that ends holds this: the event before breaks off inside one. The text after it
      // is whole.
      std::size_t last = at - 1;  // where its last character begins
      while (last > opened + 1 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
      text.replace(last, at - last, at - last, ' ');
      if (last > opened) text[last] = '"';
      inString = false;
    }
  }
  return text;
}

void RawEvent::clear() {
  phase = 0;
  cat = name = pid = tid = ts = dur = id = {};
  args.clear();
  fields.clear();
  hasArgs = false;
}

struct JsonWalker::Stage1 {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  std::size_t capacity = 0;
};

JsonWalker::JsonWalker() : stage1_(std::make_unique<Stage1>()) {}
JsonWalker::~JsonWalker() = default;

bool JsonWalker::index(std::string_view text) {
  if (text.size() > stage1_->capacity || !stage1_->parser) {
    stage1_->capacity = std::max<std::size_t>(text.size() + text.size() / 4, 1 << 16);
    const auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(
        stage1_->capacity, 1, stage1_->parser);
    if (error != simdjson::SUCCESS) return false;
  }
  const auto error = stage1_->parser->stage1(reinterpret_cast<const std::uint8_t*>(text.data()),
                                             text.size(), simdjson::stage1_mode::regular);
  at_ = structure_ = stage1_->parser->structural_indexes.get();
  end_ = structure_ + (error == simdjson::SUCCESS ? stage1_->parser->n_structural_indexes : 0);
  return error == simdjson::SUCCESS;
}

/// Replaces what spoils the whole text for the first stage; then `text` is the repaired copy. False
/// when there was nothing to repair, or it did not help.
bool JsonWalker::indexRepaired(std::string_view& text) {
  repairedText_ = repairedJson(text);
  if (repairedText_ == text) return false;
  repairedText_.append(kPadding, ' ');
  text = std::string_view(repairedText_).substr(0, text.size());
  return index(text);
}

namespace {

/// Reports the repair of an event, given the bytes that its file has there.
void reportRepaired(std::string_view written, std::string_view read, std::uint64_t offset,
                    JsonWalker::Outcome& outcome) {
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(written, read).in1 - written.begin());
  if (at == written.size() || ++outcome.repairedEvents > JsonWalker::kMostNamed) return;
  const auto byte = static_cast<unsigned char>(written[written[at] == '\\' ? at + 1 : at]);
  const std::string_view what =
      byte >= 0x80 ? "is no UTF-8: its event was read with '?' in its place"
                   : "is bare inside a string: its event was read with a space in its place";
  outcome.repaired.push_back({offset + at, fmt::format("0x{:02x} {}", byte, what)});
}

}  // namespace

inline std::string_view JsonWalker::scalar(std::string_view text) const {
  const std::size_t from = *at_;
  std::size_t to = at_ + 1 < end_ ? at_[1] : text.size();
  while (to > from && isSpace(text[to - 1])) --to;
  return text.substr(from, to - from);
}

inline bool JsonWalker::skipValue(std::string_view text, std::string_view& token) {
  if (at_ == end_) return false;
  const Role role = roleOf(text[*at_]);
  if (role == Role::Open) return skipList(text, token);
  token = scalar(text);
  if (role == Role::Text) return ++at_, token.size() >= 2 && token.back() == '"';
  if (role != Role::Scalar) return false;
  ++at_;
  if (isNumberOrWord(token)) return true;
  bare_ = token;
  return false;
}

bool JsonWalker::skipList(std::string_view text, std::string_view& token) {
  const std::size_t from = *at_;
  int depth = 0;
  for (; at_ < end_; ++at_) {
    switch (roleOf(text[*at_])) {
      case Role::Scalar:
        if (isNumberOrWord(scalar(text))) break;
        bare_ = scalar(text);
        if (at_ + 1 == end_) ++at_;  // the text ends in it
        return false;
      case Role::Open:
        ++depth;
        break;
      case Role::Close:
        if (--depth > 0) break;
        token = text.substr(from, *at_++ + 1 - from);
        return true;
      default:
        break;
    }
  }
  return false;
}

/// Reads `"key":`, and leaves the value.
inline bool JsonWalker::readKey(std::string_view text, std::string_view& key) {
  if (at_ + 1 >= end_) return at_ = end_, false;  // the text ends in front of the colon
  const std::string_view quoted = scalar(text);
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return false;
  key = quoted.substr(1, quoted.size() - 2);
  if (text[*++at_] != ':') return false;
  ++at_;
  return true;
}

/// Calls take(key) for each member of the object that begins here; it reads the value.
template <class Take>
bool JsonWalker::readObject(std::string_view text, Take&& take) {
  ++at_;  // the opening brace
  if (at_ < end_ && text[*at_] == '}') return ++at_, true;
  for (std::string_view key; readKey(text, key);) {
    if (!take(key) || at_ == end_) return false;
    const char after = text[*at_++];
    if (after == '}') return true;
    if (after != ',') return false;
  }
  return false;
}

bool JsonWalker::readField(std::string_view text, std::string_view key, RawEvent& event) {
  std::string_view phase;
  switch (wordInWindow(key)) {
    case wordOf("ph"):
      if (!skipValue(text, phase)) return false;
      if (phase.size() == 3 && phase[0] == '"') {
        event.phase = phase[1];
      } else {
        event.fields.push_back({key, phase});
      }
      return true;
    case wordOf("cat"):
      return skipValue(text, event.cat);
    case wordOf("name"):
      return skipValue(text, event.name);
    case wordOf("pid"):
      return skipValue(text, event.pid);
    case wordOf("tid"):
      return skipValue(text, event.tid);
    case wordOf("ts"):
      return skipValue(text, event.ts);
    case wordOf("dur"):
      return skipValue(text, event.dur);
    case wordOf("id"):
      return skipValue(text, event.id);
    case wordOf("args"):
      if (at_ < end_ && text[*at_] == '{') {
        event.hasArgs = true;
        return readObject(text, [&](std::string_view name) {
          event.args.push_back({name, {}});
          return skipValue(text, event.args.back().value);
        });
      }
      [[fallthrough]];
    default:
      event.fields.push_back({key, {}});
      return skipValue(text, event.fields.back().value);
  }
}

JsonWalker::Read JsonWalker::readEvent(std::string_view text, RawEvent& event) {
  if (at_ == end_) return Read::TextEnd;
  const std::size_t from = *at_;
  if (text[from] == ']') return Read::ListEnd;
  if (text[from] != '{') return Read::Malformed;
  event.clear();
  bare_ = {};
  const bool isComplete =
      readObject(text, [&](std::string_view key) { return readField(text, key, event); });
  if (!isComplete) return at_ == end_ ? Read::TextEnd : Read::Malformed;
  event.text = text.substr(from, at_[-1] + 1 - from);
  return Read::Event;
}

void JsonWalker::skipTo(std::size_t offset) {
  at_ = std::lower_bound(structure_, end_, offset);
}

JsonWalker::Problem JsonWalker::lostEvent(std::string_view whole, std::size_t from,
                                          std::uint64_t fileOffset) const {
  if (bare_.empty())
    return {fileOffset + from, "an event that is not well-formed JSON was left out"};
  const auto at = static_cast<std::size_t>(bare_.data() - whole.data());
  return {fileOffset + at,
          fmt::format("'{}' is neither a string nor a number: its event was left out",
                      bare_.substr(0, kShownBytes))};
}

JsonWalker::Outcome JsonWalker::walk(std::string_view text, std::uint64_t fileOffset,
                                     const std::function<void(const RawEvent&)>& visit) {
  Outcome outcome;
  std::string_view whole = text;
  // Bytes that are no UTF-8 and bare control characters spoil the whole text for the first stage.
  // So does a string that does not end: then read up to the event before it.
  bool indexed = index(whole) || indexRepaired(whole);
  for (; !indexed; indexed = index(whole)) {
    std::size_t gap = 0;
    const std::size_t start = lastEventStart(whole, gap);
    if (start == std::string_view::npos) {
      outcome.incomplete = true;
      return outcome;
    }
    whole = whole.substr(0, gap);
    outcome.incomplete = true;
  }
  RawEvent event;
  bool lost = false;  // after a malformed event: what looks like the next one may be an object
                      // inside its arguments
  for (;;) {
    const std::size_t from = at_ < end_ ? *at_ : whole.size();
    Read read = readEvent(whole, event);
    if (lost && read == Read::Event && event.phase == 0) read = Read::Malformed;
    if (read == Read::Event) {
      lost = false;
      event.offset = fileOffset + from;
      visit(event);
      outcome.endOffset = from + event.text.size();
      if (whole.data() != text.data()) {
        reportRepaired(text.substr(from, event.text.size()), event.text, event.offset, outcome);
      }
      if (at_ < end_ && whole[*at_] == ',') ++at_;
      continue;
    }
    if (read == Read::ListEnd) {
      outcome.listEnded = true;
      outcome.endOffset = from + 1;
      return outcome;
    }
    if (read == Read::TextEnd) {
      if (from < whole.size()) outcome.incomplete = true;
      if (outcome.incomplete) {
        std::size_t at = outcome.endOffset;
        while (at < text.size() && (isSpace(text[at]) || text[at] == ',')) ++at;
        outcome.endOffset = at;
      }
      return outcome;
    }
    if (!lost) outcome.problems.push_back(lostEvent(whole, from, fileOffset));
    lost = true;
    std::size_t gap = 0;
    const std::size_t start = nextEventStart(whole, from, gap);
    outcome.endOffset = start == std::string_view::npos ? whole.size() : start;
    skipTo(outcome.endOffset);
    if (start == std::string_view::npos) return outcome;
  }
}

std::size_t lastEventStart(std::string_view text, std::size_t& gapStart) {
  for (std::size_t close = text.rfind('}'); close != std::string_view::npos;
       close = close == 0 ? std::string_view::npos : text.rfind('}', close - 1)) {
    std::size_t start = 0;
    if (eventFollows(text, close, start)) {
      gapStart = close + 1;
      return start;
    }
  }
  return std::string_view::npos;
}

std::size_t nextEventStart(std::string_view text, std::size_t from, std::size_t& gapStart) {
  for (std::size_t close = text.find('}', from); close != std::string_view::npos;
       close = text.find('}', close + 1)) {
    std::size_t start = 0;
    if (eventFollows(text, close, start)) {
      gapStart = close + 1;
      return start;
    }
  }
  return std::string_view::npos;
}

}  // namespace lacuna::analyzer
