// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/ids.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// The parts of the longest chain of waits through a step. They sum to the step.
struct StepPath {
  std::int64_t computeNs = 0;
  std::int64_t communicationNs = 0;
  std::int64_t copyNs = 0;
  std::int64_t hostNs = 0;    ///< host work and calls
  std::int64_t launchNs = 0;  ///< from a launch to its start, and between queued work
  std::int64_t loaderNs = 0;  ///< waiting for batches

  [[nodiscard]] std::int64_t totalNs() const {
    return computeNs + communicationNs + copyNs + hostNs + launchNs + loaderNs;
  }
};

/// The longest chains of the steps, from a replay; empty without one.
struct CriticalPaths {
  std::vector<StepPath> steps;  ///< by position in steps.all; zeros where not replayed
  StepPath mean;                ///< of the steady steps
};

// Gains of kernels by the knobs that change them (Calibration::knobs()): factors on their
// durations, by kind of kernel and by how long it takes. Built in, or measured on a machine by
// `lacuna calibrate`. docs/calibration.md.

/// The factor of a knob on a duration: the likely one, and the interval.
struct DurationFactor {
  double likely = 1, low = 1, high = 1;
};

enum class KernelKind : std::uint8_t { Product, Convolution, Pointwise, Copy, Other };
/// The kind of a kernel, by its name. Matrix work that is no convolution is a product.
KernelKind kernelKindOf(std::string_view name);

/// Relative standard deviation of measured step times from predicted ones.
struct KnownError {
  double share = 0;
  std::string_view from;  ///< where it was measured, or why it is assumed
};

class Calibration {
 public:
  struct Row {
    std::string knob;
    std::vector<KernelKind> kinds;  ///< that it is about
    std::int64_t fromNs = 0;        ///< of durations without the knob
    std::int64_t toNs = INT64_MAX;  ///< not included
    DurationFactor factor;
  };
  /// A change that was predicted and then made: `lacuna tune` measured it. Shares of a step.
  struct Outcome {
    std::string knob;
    double predicted = 0;
    double measured = 0;
  };

  /// Takes the place of what is not measured.
  static const Calibration& builtIn();
  /// Errors name the file, the row and what is wrong with it.
  static prof::Result<Calibration> read(const std::filesystem::path& path);

  /// The factor for a kernel. Where several rows fit, the one about the fewest kinds counts, and
  /// among these the one whose durations are nearest.
  [[nodiscard]] DurationFactor factor(std::string_view knob, KernelKind kind,
                                      std::int64_t durNs) const;
  /// The knobs whose predictions rest on such factors, by name.
  static std::vector<std::string_view> knobs();
  static bool isFor(std::string_view knob);
  /// Where the factors of a knob come from, in words for people.
  [[nodiscard]] std::string sourceOf(std::string_view knob) const;
  /// How far predictions of the knob were off: `usual` where no outcome shows it, else of the
  /// outcomes, among which `usual` counts as one.
  [[nodiscard]] KnownError knownError(std::string_view knob, KnownError usual) const;
  /// The text of a calibration file with more outcomes: the newest kMostOutcomes stay. The file
  /// need not exist.
  static prof::Result<std::string> withOutcomes(const std::filesystem::path& path,
                                                std::span<const Outcome> more);

  static constexpr std::size_t kMostOutcomes = 1000;

 private:
  [[nodiscard]] bool hasRow(std::string_view knob, KernelKind kind) const;

  std::vector<Row> rows_;
  std::vector<Outcome> outcomes_;
  std::string source_;        ///< empty for the built-in one
  std::string outcomesFrom_;  ///< in words
};

/// The file that the variable LACUNA_CALIBRATION names; null where it is not set.
prof::Result<std::shared_ptr<const Calibration>> calibrationOfEnvironment();

// The changes that `lacuna whatif` knows, for parsers, lists, help, documents and controls.

struct Analysis;

/// The form of a change: NAME=WORD, NAME=N, NAME*F, or none, where only a run can show the effect.
enum class ChangeArgument : std::uint8_t { Word, Number, Factor, None };
/// The need for a pattern of names after a part's name, as in kernel:gelu*0.5.
enum class ChangeNames : std::uint8_t { None, Optional, Needed };
enum class ChangeControl : std::uint8_t { None, CheckBox, Slider };

/// A knob's value in the run that was recorded.
struct RecordedNumber {
  std::uint32_t value = 0;
  bool known = false;        ///< only then another value can be played
  std::string_view words{};  ///< for people, where the number alone would mislead
};

/// All that lists need to know of a change. Texts live as long as the program.
struct ChangeInfo {
  std::string_view name{};   ///< "loader.workers", "kernel"
  std::string_view form{};   ///< "loader.workers=N", "kernel:PATTERN*F"
  std::string_view brief{};  ///< the effect in a few plain words
  std::string_view
      effect{};  ///< the effect in full, in Markdown: the row of docs/analyses/whatif.md
  ChangeArgument argument = ChangeArgument::Factor;
  std::span<const std::string_view> values{};  ///< of Word
  std::uint32_t least = 0, most = 0;           ///< of Number
  ChangeNames names = ChangeNames::None;
  std::string_view namesExample{};  ///< of Needed: a change with a pattern
  KnownError error{};
  std::string_view notReplayed{};  ///< why NAME=VALUE cannot be replayed; empty where it can, or no
                                   ///< such form exists
  std::string_view instead{};      ///< with `notReplayed`: what to do
  ChangeControl control = ChangeControl::None;
  std::string_view label{};                               ///< of the control
  std::uint32_t usualMost = 0;                            ///< of a slider
  RecordedNumber (*recorded)(const Analysis&) = nullptr;  ///< of a slider
};

/// All changes, in the order of lists. Those without a form only explain why they cannot be
/// replayed.
std::span<const ChangeInfo* const> listChanges();
/// Null where there is none of that name.
const ChangeInfo* findChange(std::string_view name);
/// The list of docs/analyses/whatif.md, in Markdown.
std::string changesMarkdown();

struct Analysis;

/// One change to play: a knob with its value ("loader.workers=4", "static_graph=on") or a factor on
/// a part of the run
/// ("kernel:gelu*0.5", "call:cudaMemcpy*0", "host*0.8", "copy*0.5", …).
struct Change {
  std::string target;   ///< the knob, or the part: "kernel", "call", "host", "copy", …
  std::string value;    ///< of a knob
  std::string pattern;  ///< of names, '*' stands for anything; matches anywhere in the name
  bool exact = false;   ///< the pattern is a whole name, as it is: written in quotes
  double factor = 1;
  /// For "call": only calls whose own copy moves more than `aboveBytes` and at most `uptoBytes`.
  std::uint64_t aboveBytes = 0;
  std::uint64_t uptoBytes = UINT64_MAX;

  [[nodiscard]] std::string text() const;
};
/// The error lists the knobs where the text is none of them, or gives the reason why a knob of a
/// finding cannot be played.
prof::Result<Change> parseChange(std::string_view text);
/// The words by which a knob is on, and by which it is off.
inline constexpr std::array<std::string_view, 4> kOnWords{"on", "1", "true", "yes"};
inline constexpr std::array<std::string_view, 4> kOffWords{"off", "0", "false", "no"};
bool isOneOf(std::string_view value, std::span<const std::string_view> words);

/// A step of the replay that is as long as the typical one, as near as there is: what the host did,
/// what it waited for, and what the queues worked on. Times count from the step's beginning;
/// stretches are cut at its ends.
struct DrawnStep {
  enum class Kind : std::uint8_t { Host, LoaderWait, SyncWait, Work };
  struct Stretch {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    Kind kind = Kind::Host;
    Work work = Work::Compute;  ///< of Work
    std::size_t queue = 0;      ///< of Work
    prof::StringId name;        ///< of Work
  };
  std::int64_t durNs = 0;
  std::size_t queues = 0;
  std::vector<std::string>
      queueNames;  ///< by Stretch::queue; empty where a change makes it, or nobody knows
  std::vector<Stretch> stretches;  ///< in the order of the host's program
};

/// Replays the steady steps of a run with changes. It follows the host's program in order, launch →
/// device work, queue order, waits between queues, synchronisation, and the loader as a pipeline.
/// The model is explained in docs/analyses/whatif.md.
class Simulator {
 public:
  /// Nothing where there is no device work to replay, or where graph replays lack work in every
  /// step.
  static std::optional<Simulator> create(const Analysis& analysis);
  ~Simulator();
  Simulator(Simulator&&) noexcept;

  /// An error, with the costliest kernels, where a change names kernels that the run does not have.
  [[nodiscard]] prof::Status check(const Change& change) const;
  /// The step time with all of these changes at once. Costs a replay of up to a million rows.
  [[nodiscard]] Prediction play(std::span<const Change> changes) const;
  /// The same with one change, as parseChange() reads it; without a change where it cannot read the
  /// text.
  [[nodiscard]] Prediction play(std::string_view change) const;
  /// A typical step with these changes, to be drawn.
  [[nodiscard]] DrawnStep draw(std::span<const Change> changes) const;

  /// The longest chain of each replayed step (the first of the steady ones that were asked for),
  /// walked back from the end of the last one.
  [[nodiscard]] std::vector<StepPath> criticalPaths() const;

  /// Internal.
  struct Model;

 private:
  explicit Simulator(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace lacuna::analyzer
