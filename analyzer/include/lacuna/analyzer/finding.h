// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/finding_ids.h"
#include "lacuna/analyzer/gain_chain.h"
#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

enum class FindingKind : std::uint8_t {
  Fault,        ///< something is wrong
  Opportunity,  ///< something could be switched on
};
enum class Severity : std::uint8_t { Low, Medium, High };

/// Where to look: an interval of the trace with a word on it, and whose it is, as far as that is known. A moment on a
/// device is one of its memory.
struct Evidence {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::string what;
  prof::DeviceId device{};
  prof::QueueId queue{};    ///< whose work it is; none where the device waits, or several of its queues work
  prof::ThreadId thread{};  ///< what the device waits for, or what did not get on
};

/// How a gain was found, from the surest down.
enum class GainBasis : std::uint8_t {
  None,        ///< it is not predicted: Finding::notPredicted says why
  Replay,      ///< the run replayed with the change
  Trace,       ///< read off the trace, without a replay
  UpperBound,  ///< the run replayed without any of what the finding is about: no change gains more
  Bytes,       ///< of memory: by how much less the peak, or what is reserved, would be
};
std::string_view gainBasisName(GainBasis basis);

/// The unit of a quantity, by which a title prints it.
enum class QuantityUnit : std::uint8_t {
  Name,     ///< no number: the name of a call, a kernel, a device
  Number,   ///< with so many decimals
  Counted,  ///< with a noun: "1 fill", "12 fills"
  Time,     ///< nanoseconds
  Bytes,
  Share,  ///< 0 … 1
};

/// A number or a name that a finding's title mentions.
struct Quantity {
  std::string_view name{};  ///< its place in Finding::words
  QuantityUnit unit = QuantityUnit::Name;
  double value = 0;        ///< of Number and Share
  std::int64_t whole = 0;  ///< of Counted, Time and Bytes
  int decimals = 0;
  std::string words{};   ///< the name, or the noun
  std::string plural{};  ///< of the noun, where that is not one with an s

  static Quantity time(std::string_view name, std::int64_t ns);
  static Quantity bytes(std::string_view name, std::uint64_t bytes);
  static Quantity share(std::string_view name, double share);
  static Quantity number(std::string_view name, double value, int decimals = 0);
  static Quantity counted(std::string_view name, std::uint64_t count, std::string_view one,
                          std::string_view several = {});
  static Quantity called(std::string_view name, std::string words);
  [[nodiscard]] std::string text() const;
};

struct Finding {
  FindingId id{};
  FindingKind kind = FindingKind::Opportunity;
  Severity severity = Severity::Low;
  std::string title;                    ///< one line: what costs how much
  std::string_view words;               ///< the title with names in braces for its quantities
  std::vector<Quantity> quantities;     ///< which the title mentions
  std::int64_t costNsPerStep = 0;       ///< 0 where the cost is not time
  std::int64_t accountedNsPerStep = 0;  ///< what of the cost the trace itself holds; all else the gain says
  /// The part of the cost that recording may be. It is never more than the recording of the step, or of the cause.
  std::int64_t recordingNsPerStep = 0;
  std::int64_t predictedGainNsPerStep = 0;
  /// The step that the gain is taken from, as Prediction's; 0 where none was predicted.
  std::int64_t baseNsPerStep = 0;
  /// Cost and gain are shares of this step. It is the mean marked step, or the step that the gain is taken from where
  /// that one is longer because it includes the time up to the next step.
  std::int64_t wholeStepNs = 0;
  bool coversGaps = false;            ///< it is longer by enough to be told
  std::int64_t gainLowNsPerStep = 0;  ///< the interval of the prediction
  std::int64_t gainHighNsPerStep = 0;
  GainBasis gainBasis = GainBasis::None;
  std::uint64_t predictedGainBytes = 0;  ///< of memory; 0 where the finding is about time
  double samplesPerSecond = 0;           ///< of a finding on the batch's size: now; 0 where that is not known
  double predictedSamplesPerSecond = 0;  ///< and with the change
  std::string notPredicted;              ///< with GainBasis::None: why
  GainChain gainChain;                   ///< how the gain and its interval came about
  double confidence = 0;                 ///< 0 … 1
  std::string knob;                      ///< "loader.workers=4", empty when only code helps
  std::string advice;
  std::uint64_t count = 0;  ///< how often in the window
  std::vector<Evidence> evidence;

  [[nodiscard]] double costShare() const { return shareOfStep(costNsPerStep); }
  [[nodiscard]] double gainShare() const { return shareOfStep(predictedGainNsPerStep); }
  [[nodiscard]] double shareOfStep(std::int64_t ns) const {
    return wholeStepNs <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(wholeStepNs);
  }
};

}  // namespace lacuna::analyzer
