// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/ids.h"

/// The registry: one line for each finding. The name is that of its FindingId; its rule, kNameRule,
/// is defined in a file of its own under analyzer/src/rules/. Findings of equal weight are listed
/// in this order; the order in which rules run follows from what the rules declare.
#define LACUNA_FINDINGS(FINDING) \
  FINDING(LoaderRestarts)        \
  FINDING(LoaderWait)            \
  FINDING(OutOfMemory)           \
  FINDING(MemoryLeak)            \
  FINDING(MemorySpike)           \
  FINDING(AllocationChurn)       \
  FINDING(MemoryNearlyFull)      \
  FINDING(Fragmentation)         \
  FINDING(BlockingCopy)          \
  FINDING(BlockingMemset)        \
  FINDING(DebugMode)             \
  FINDING(SyncInStep)            \
  FINDING(SlowLaunches)          \
  FINDING(LaunchBound)           \
  FINDING(DriverCalls)           \
  FINDING(HostNotRunning)        \
  FINDING(CoresTaken)            \
  FINDING(TooManyThreads)        \
  FINDING(CheckpointStall)       \
  FINDING(GarbageCollection)     \
  FINDING(Recompilation)         \
  FINDING(HostWork)              \
  FINDING(LateStarts)            \
  FINDING(SlowSteps)             \
  FINDING(PageableCopy)          \
  FINDING(ExposedCopy)           \
  FINDING(ZeroGrad)              \
  FINDING(TinyKernels)           \
  FINDING(BiasBeforeNorm)        \
  FINDING(UnusedGradients)       \
  FINDING(BatchInParts)          \
  FINDING(SideWork)              \
  FINDING(HalfOnCpu)             \
  FINDING(DtypeRoundTrip)        \
  FINDING(Amp)                   \
  FINDING(Fuse)                  \
  FINDING(Autotune)              \
  FINDING(OptimizerFused)        \
  FINDING(SmallBatch)            \
  FINDING(LateRank)              \
  FINDING(ExposedCommunication)  \
  FINDING(DataParallel)          \
  FINDING(SlowBackend)           \
  FINDING(UnderUtilised)

namespace lacuna::analyzer {

/// A constant with its name in the source.
struct NamedNumber {
  std::string_view name;  ///< empty where only the recording decides
  double value = 0;
};
#define LACUNA_NAMED(constant) \
  (::lacuna::analyzer::NamedNumber{#constant, static_cast<double>(constant)})

/// A limit that a prediction passes, in time of a step (or bytes, of a gain of memory).
struct GainLimit {
  /// The pieces of a step, what work gains from a warm CPU, the predicted step, the ends of its
  /// interval, and a finding's gain or an end of its interval.
  enum class Of : std::uint8_t { Pieces, Warming, Step, Low, High, Gain };
  std::string_view name;    ///< "waits"
  std::string_view reason;  ///< in words for people
  Of of = Of::Step;
  NamedNumber constant{};
  std::int64_t beforeNs = 0;
  std::int64_t limitNs = 0;
  std::int64_t afterNs = 0;
  bool isMost = false;  ///< else the limit is the least

  [[nodiscard]] bool isHeld() const { return beforeNs != afterNs; }
};
/// "step"
std::string_view textOf(GainLimit::Of of);

/// All limits that a prediction passed, in order.
class GainLimits {
 public:
  /// Both answer the time within the limit.
  std::int64_t atLeast(GainLimit limit, std::int64_t ns, std::int64_t leastNs);
  std::int64_t atMost(GainLimit limit, std::int64_t ns, std::int64_t mostNs);
  /// A limit whose times are filled in.
  void passed(const GainLimit& limit) { limits_.push_back(limit); }

  [[nodiscard]] std::span<const GainLimit> all() const { return limits_; }
  /// The last limit that moved the predicted step; null where the replay decided it.
  [[nodiscard]] const GainLimit* decisive() const;

 private:
  std::int64_t add(GainLimit limit, std::int64_t ns, std::int64_t limitNs, std::int64_t afterNs);

  std::vector<GainLimit> limits_;
};

/// Parts of a prediction's standard deviation, each relative to the predicted step; added in
/// squares.
struct PredictionDoubt {
  double knownError = 0;       ///< the greatest of the changes'
  std::string_view knownFrom;  ///< where that was measured
  double miss = 0;             ///< of the unchanged replay
  double noise = 0;            ///< of the recorded steps
  double others = 0;     ///< other programs may take more or less of the cores in the next run
  NamedNumber sigmas{};  ///< half of the interval's width
  [[nodiscard]] double sigma() const;
};

struct Prediction {
  std::int64_t measuredNsPerStep = 0;
  std::int64_t baseNsPerStep =
      0;  ///< the simulation without a change; its distance from measured shows how good it is
  std::int64_t predictedNsPerStep = 0;
  /// The interval that 19 of 20 measured steps should lie in. It comes from the spread of the
  /// recorded steps, the error of the unchanged replay, the known error of the model and, where a
  /// change rests on one, its calibration.
  std::int64_t lowNsPerStep = 0;
  std::int64_t highNsPerStep = 0;
  /// The time that the change takes off the program's pieces: no step becomes shorter by more than
  /// that. Nothing where the change also removes waits, since those may have been for anything.
  std::optional<std::int64_t> takenNsPerStep;
  std::int64_t freedNsPerStep =
      0;  ///< saved by a training that gets more of the cores from its workers
  std::int64_t workTakenNsPerStep = 0;  ///< by how much the devices' work becomes less
  bool touched =
      false;  ///< something that was recorded would change; else the replay knows nothing of it
  double confidence = 0;             ///< that at least half of the gain comes true
  std::vector<std::string> notes;    ///< assumptions, in words for people
  std::int64_t playedNsPerStep = 0;  ///< as replayed with the changes, before any limit on the step
  GainLimits limits;                 ///< in the order in which the prediction passed them
  PredictionDoubt doubt;

  [[nodiscard]] std::int64_t gainNs() const { return baseNsPerStep - predictedNsPerStep; }
  /// The share of the unchanged step, which lasts from the end of one step to the end of the next.
  [[nodiscard]] double gainShare() const {
    return baseNsPerStep <= 0 ? 0
                              : static_cast<double>(gainNs()) / static_cast<double>(baseNsPerStep);
  }
};

/// A number that is computed step by step from named numbers, and then kept within limits. It keeps
/// every value on the way, so its account always ends at the number itself.
class GainSum {
 public:
  enum class Op : std::uint8_t {
    Start,  ///< the value itself
    Minus,  ///< less the value
    Times,
    Over,  ///< divided by the value, rounded towards 0
    From,  ///< the value less what there was
  };
  struct Term {
    Op op = Op::Start;
    std::string_view name;
    std::int64_t value = 0;  ///< of Times and Over a count, else in the unit of the sum
    std::int64_t after = 0;

    [[nodiscard]] bool isCount() const { return op == Op::Times || op == Op::Over; }
  };

  GainSum() = default;
  /// Names are in words for people, and are never freed.
  GainSum(std::string_view name, std::int64_t value) { add(Op::Start, name, value); }
  GainSum& minus(std::string_view name, std::int64_t value) { return add(Op::Minus, name, value); }
  GainSum& times(std::string_view name, std::int64_t count) { return add(Op::Times, name, count); }
  GainSum& over(std::string_view name, std::int64_t count) { return add(Op::Over, name, count); }
  GainSum& from(std::string_view name, std::int64_t value) { return add(Op::From, name, value); }
  GainSum& atLeast(const GainLimit& limit, std::int64_t least);
  GainSum& atMost(const GainLimit& limit, std::int64_t most);

  /// 0 of an empty sum.
  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] std::span<const Term> terms() const { return terms_; }
  [[nodiscard]] std::span<const GainLimit> limits() const { return limits_.all(); }
  /// The last limit that moved the value; null where the terms alone decide.
  [[nodiscard]] const GainLimit* decisive() const;

 private:
  GainSum& add(Op op, std::string_view name, std::int64_t value);

  std::vector<Term> terms_;
  GainLimits limits_;
  std::int64_t value_ = 0;
};
/// "minus"
std::string_view textOf(GainSum::Op op);

/// The derivation of a finding's gain and of the ends of its interval: in time of a step, or in
/// bytes.
struct GainChain {
  std::string change;  ///< "loader.workers=4": what was replayed; empty without a replay
  std::optional<Prediction> prediction;  ///< of that change
  GainSum gain;
  GainSum low;
  GainSum high;
};

enum class FindingId : std::uint8_t {
#define LACUNA_FINDING_ID(name) name,
  LACUNA_FINDINGS(LACUNA_FINDING_ID)
#undef LACUNA_FINDING_ID
};
#define LACUNA_FINDING_COUNTS(name) +1
inline constexpr std::size_t kFindingCount = 0 LACUNA_FINDINGS(LACUNA_FINDING_COUNTS);
#undef LACUNA_FINDING_COUNTS

/// The room that a finding belongs to: its folder under analyzer/src/rules/.
enum class FindingArea : std::uint8_t { Loader, Host, Device, Memory, Ranks };

/// The stable text that reports and options use: "loader-wait", "sync-in-step", …
std::string_view findingKey(FindingId id);
std::optional<FindingId> findFindingId(std::string_view key);
FindingArea findingArea(FindingId id);
std::string_view findingAreaName(FindingArea area);

enum class FindingKind : std::uint8_t {
  Fault,        ///< something is wrong
  Opportunity,  ///< something could be switched on
};
enum class Severity : std::uint8_t { Low, Medium, High };

/// Where to look: an interval of the trace with a word on it, and whose it is, as far as that is
/// known. A moment on a device is one of its memory.
struct Evidence {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::string what;
  prof::DeviceId device{};
  prof::QueueId
      queue{};  ///< whose work it is; none where the device waits, or several of its queues work
  prof::ThreadId thread{};  ///< what the device waits for, or what did not get on
};

/// The ways to find a gain, from the surest down.
enum class GainBasis : std::uint8_t {
  None,        ///< it is not predicted: Finding::notPredicted has the reason
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
  double value = 0;         ///< of Number and Share
  std::int64_t amount = 0;  ///< of Counted, Time and Bytes
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
  std::string title;                 ///< one line: what costs how much
  std::string_view words;            ///< the title with names in braces for its quantities
  std::vector<Quantity> quantities;  ///< which the title mentions
  std::int64_t costNsPerStep = 0;    ///< 0 where the cost is not time
  std::int64_t accountedNsPerStep =
      0;  ///< the part of the cost that the trace holds; the rest follows from the gain
  std::int64_t pausesNsPerStep =
      0;  ///< the part of the cost between steps; cost and gain are then of an iteration
  /// The part of the cost that recording may be. It is never more than the recording of the step,
  /// or of the cause.
  std::int64_t recordingNsPerStep = 0;
  std::int64_t predictedGainNsPerStep = 0;
  /// The step that the gain is taken from, as Prediction's; 0 where none was predicted.
  std::int64_t baseNsPerStep = 0;
  /// Cost and gain are shares of this step. It is the mean marked step, or the step that the gain
  /// is taken from where that is longer. The longer one includes the time up to the next one, with
  /// all pauses where the cost has a part in them.
  std::int64_t fullStepNs = 0;
  std::int64_t stepRecordingNs = 0;  ///< by how much recording made that step longer
  double recordedShare = 0;  ///< the part of the cost, and of the gain, that recording may be
  bool coversGaps = false;   ///< it is so much longer that the report mentions it
  std::int64_t gainLowNsPerStep = 0;  ///< the interval of the prediction
  std::int64_t gainHighNsPerStep = 0;
  GainBasis gainBasis = GainBasis::None;
  std::uint64_t predictedGainBytes = 0;  ///< of memory; 0 where the finding is about time
  double samplesPerSecond =
      0;  ///< of a finding on the batch's size: now; 0 where that is not known
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
  /// A gain as a share of a step that nobody records. Recording lengthens the step, and a part of
  /// the gain is its own.
  [[nodiscard]] double unrecordedShare(std::int64_t gainNs) const;
  /// Shares of a step.
  struct ShareInterval {
    double low = 0, high = 0;
  };
  /// Where 19 of 20 gains should lie that are measured in runs without a recorder. Such runs differ
  /// from the recorded one, so a gain may be more than this one lost, or a loss where it may be
  /// nothing.
  [[nodiscard]] ShareInterval measuredInterval() const;
  [[nodiscard]] double shareOfStep(std::int64_t ns) const {
    return fullStepNs <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(fullStepNs);
  }
};

using Findings = std::vector<Finding>;  ///< faults before opportunities, costliest first

struct Analysis;
class Simulator;

/// A finding's gain in words: "3.10 ms a step (20.1 %), confidence 90 %, between 2.90 ms and 3.30
/// ms", "frees 1.20 GiB, confidence 70 %", or why none is predicted. `per`: "a step", or "in all"
/// without steps.
std::string describeGain(const Finding& finding, std::string_view per);

/// Applies every rule; faults before opportunities, costliest first. docs/analyses/findings.md
/// lists the rules.
std::vector<Finding> findFindings(const Analysis& analysis, const Simulator* simulator);

/// Every finding that there is, with its kind, causes, numbers and meaning: for a terminal, and as
/// JSON.
std::string findingListText(int width);
std::string findingListJson();
/// The same in Markdown, as the list and the tables of docs/analyses/findings.md.
std::string findingsMarkdown();

}  // namespace lacuna::analyzer
