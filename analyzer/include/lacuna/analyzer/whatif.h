// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/prediction.h"
#include "lacuna/analyzer/step_path.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/ids.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

struct Analysis;

/// One change to play: a knob with its value ("loader.workers=4", "static_graph=on") or a factor on a part of the run
/// ("kernel:gelu*0.5", "call:cudaMemcpy*0", "host*0.8", "copy*0.5", …).
struct Change {
  std::string target;   ///< the knob, or the part: "kernel", "call", "host", "copy", …
  std::string value;    ///< of a knob
  std::string pattern;  ///< of names, '*' stands for anything; matches anywhere in the name
  bool whole = false;   ///< the pattern is a whole name, as it is: written in quotes
  double factor = 1;
  /// Of "call": only those whose own copy moves more than `aboveBytes` and at most `uptoBytes`.
  std::uint64_t aboveBytes = 0;
  std::uint64_t uptoBytes = UINT64_MAX;

  [[nodiscard]] std::string text() const;
};
/// Names the knobs there are when the text is none of them, and says why a knob of a finding cannot be played.
prof::Result<Change> parseChange(std::string_view text);
/// The words by which a knob is on, and by which it is off.
inline constexpr std::array<std::string_view, 4> kOnWords{"on", "1", "true", "yes"};
inline constexpr std::array<std::string_view, 4> kOffWords{"off", "0", "false", "no"};
bool isOneOf(std::string_view value, std::span<const std::string_view> words);

/// A step of the replay that is as long as the typical one, as near as there is: what the host did, what it waited for,
/// and what the queues worked on. Times count from the step's beginning; stretches are cut at its ends.
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
  std::vector<std::string> queueNames;  ///< by Stretch::queue; empty where a change makes it, or nobody knows
  std::vector<Stretch> stretches;       ///< in the order of the host's program
};

/// Replays the steady steps of a run with changes: the host's program in order, launch → device work, queue order,
/// waits between queues, synchronisation, and the loader as a pipeline. docs/analyses/whatif.md explains the model.
class Simulator {
 public:
  /// Nothing where there is no device work to replay.
  static std::optional<Simulator> create(const Analysis& analysis);
  ~Simulator();
  Simulator(Simulator&&) noexcept;

  /// An error, with the costliest kernels, where a change names kernels of which the run has none.
  [[nodiscard]] prof::Status check(const Change& change) const;
  /// The step time with all of these changes at once. Costs a replay of up to a million rows.
  [[nodiscard]] Prediction play(std::span<const Change> changes) const;
  /// Of one change, as parseChange() reads it; of a text that it does not read, the replay unchanged.
  [[nodiscard]] Prediction play(std::string_view change) const;
  /// A typical step with these changes, to be drawn.
  [[nodiscard]] DrawnStep draw(std::span<const Change> changes) const;

  /// Of each step replayed (the first of the steady ones that were asked for), walked back from the end of the last
  /// one.
  [[nodiscard]] std::vector<StepPath> criticalPaths() const;

  /// Internal.
  struct Model;

 private:
  explicit Simulator(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace lacuna::analyzer
