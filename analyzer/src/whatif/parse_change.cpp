// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {
namespace {

constexpr std::array<std::string_view, 15> kKnobs{
    "loader.workers", "loader.prefetch", "loader.pin", "amp",       "static_graph", "fuse",    "autotune", "zero_grad",
    "conv_bias",      "optimizer.fused", "sync",       "allocator", "debug",        "overlap", "repeats"};

/// Knobs whose effect no recorded run tells, with what to do instead.
struct Untold {
  std::string_view knob, why, instead;
};
constexpr std::array<Untold, 4> kUntold{{
    {"batch", "how long every kernel takes with other shapes is not in the trace",
     "record a short run with the other batch and compare samples per second (lacuna diff)"},
    {"checkpoint", "which activations are recomputed is the program's choice",
     "lacuna report FILE --section memory lists what could be recomputed, with the bytes it frees and the time it "
     "costs"},
    {"workspace", "which algorithms a larger workspace allows is the library's choice",
     "record a short run with it and compare (lacuna diff); kernel:NAME*FACTOR plays a speed-up that you know"},
    {"backend", "how fast another backend moves the same bytes is not in the trace",
     "record a short run with it and compare (lacuna diff); communication*FACTOR plays a speed-up that you know"},
}};
constexpr std::array<std::string_view, 13> kParts{
    "kernel",  "call",        "host",         "copy",       "communication", "loader", "start-delay",
    "off-cpu", "replication", "through-host", "conversion", "cores-taken",   "batch"};
/// Of which names can be chosen.
bool hasNames(std::string_view part) {
  return part == "kernel" || part == "call";
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// More than this makes no sense of any part, and keeps sums of durations far from what 64 bits hold.
constexpr double kMostFactor = 1000;

/// What the other knobs may be set to.
std::vector<std::string_view> valuesOf(std::string_view knob) {
  if (knob == "zero_grad") return {"none", "zero"};
  if (knob == "allocator") return {"cached"};
  if (knob == "repeats") return {"joined"};
  std::vector<std::string_view> values;
  for (std::size_t i = 0; i < kOnWords.size(); ++i) values.insert(values.end(), {kOnWords[i], kOffWords[i]});
  if (knob == "amp") values.insert(values.begin(), {"bf16", "fp16"});
  return values;
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

prof::Result<Change> parseFactor(std::string_view text, std::size_t star) {
  Change change;
  const std::string_view head = text.substr(0, star);
  const std::size_t colon = head.find(':');
  change.target = head.substr(0, colon);
  if (colon != std::string_view::npos) change.pattern = head.substr(colon + 1);
  const auto factor = number(text.substr(star + 1));
  if (!factor || *factor < 0 || *factor > kMostFactor)
    return prof::Error{fmt::format("'{}': the factor behind '*' must be a number from 0 to {}", text, kMostFactor)};
  change.factor = *factor;
  if (std::find(kParts.begin(), kParts.end(), change.target) == kParts.end()) {
    return prof::Error{
        fmt::format("'{}': there is no part '{}' to scale; parts are: {} (kernel:NAME*FACTOR for some kernels)", text,
                    change.target, joined(kParts))};
  }
  if (colon != std::string_view::npos && !hasNames(change.target))
    return prof::Error{fmt::format("'{}': {} has no names to choose from; kernel and call have", text, change.target)};
  if (change.target == "call" && change.pattern.empty())
    return prof::Error{fmt::format("'{}': say which calls (call:cudaMemcpy*0)", text)};
  if (change.target == "batch" && change.factor <= 0)
    return prof::Error{fmt::format("'{}': a batch has samples, so the factor is above 0", text)};
  if (change.pattern.size() > 2 && change.pattern.front() == '"' && change.pattern.back() == '"') {
    change.pattern = change.pattern.substr(1, change.pattern.size() - 2);
    change.whole = true;
  }
  return change;
}

bool needsNumber(std::string_view knob) {
  return knob == "loader.workers" || knob == "loader.prefetch";
}

}  // namespace

bool isOneOf(std::string_view value, std::span<const std::string_view> words) {
  return std::ranges::find(words, value) != words.end();
}

std::string Change::text() const {
  if (!value.empty()) return target + "=" + value;
  const std::string_view quote = whole ? "\"" : "";
  return fmt::format("{}{}{}{}{}*{}", target, pattern.empty() ? "" : ":", quote, pattern, quote, factor);
}

prof::Result<Change> parseChange(std::string_view text) {
  const std::size_t equals = text.find('=');
  for (const Untold& untold : kUntold) {
    if (text.substr(0, equals) == untold.knob)
      return prof::Error{fmt::format("'{}' cannot be replayed: {}; {}", text, untold.why, untold.instead)};
  }
  if (equals == std::string_view::npos) {
    const std::size_t star = text.rfind('*');
    if (star != std::string_view::npos) return parseFactor(text, star);
    return prof::Error{
        fmt::format("'{}': expected KNOB=VALUE (loader.workers=4) or PART*FACTOR (kernel:gelu*0.5)", text)};
  }
  Change change;
  change.target = text.substr(0, equals);
  change.value = text.substr(equals + 1);
  if (std::find(kKnobs.begin(), kKnobs.end(), change.target) == kKnobs.end()) {
    return prof::Error{fmt::format("'{}': there is no knob '{}' that can be simulated; knobs are: {}", text,
                                   change.target, joined(kKnobs))};
  }
  const auto value = number(change.value);
  if (needsNumber(change.target)) {
    if (!value || *value < 1 || *value > 1024 || std::floor(*value) != *value)
      return prof::Error{fmt::format("'{}': {} needs a whole number from 1 to 1024", text, change.target)};
    change.factor = *value;
  } else if (change.value.empty()) {
    return prof::Error{fmt::format("'{}': a value is missing behind '='", text)};
  } else if (const auto values = valuesOf(change.target);
             std::find(values.begin(), values.end(), change.value) == values.end()) {
    return prof::Error{
        fmt::format("'{}': {} cannot be '{}'; it can be: {}", text, change.target, change.value, joined(values))};
  }
  return change;
}

}  // namespace lacuna::analyzer
