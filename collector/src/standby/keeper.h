// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lacuna/collector/options.h"
#include "lacuna/prof/recording.h"
#include "standby/job_files.h"
#include "supervise/control_file.h"
#include "supervise/self_cost.h"

namespace lacuna::collector::standby {

/// Keeps the processes of one tree on standby. It shows their steps in the job's folder, and
/// records each requested process into a file of its own there. One thread.
class Keeper {
 public:
  /// Makes the folder where it is missing. `options` outlives the keeper.
  static prof::Result<std::unique_ptr<Keeper>> create(const RunOptions& options,
                                                      const std::filesystem::path& job,
                                                      std::optional<SelfCost> cost);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  /// Finishes what is being recorded, and takes the ranks' files out of the folder.
  ~Keeper();

  /// The page that the programs find by kStandbyVariable.
  [[nodiscard]] const std::filesystem::path& page() const { return page_->path(); }
  /// Time until the next check().
  [[nodiscard]] int pauseMs() const { return busy_ ? 50 : 200; }
  /// Looks at programs and requests.
  void check();
  /// Files that were recorded and kept.
  [[nodiscard]] std::uint32_t captures() const { return captures_; }

 private:
  /// A recording that a process may join.
  struct Capture {
    std::filesystem::path output;
    std::unique_ptr<prof::Drainer> drainer;
    bool begun = false;
    bool named = false;  ///< the trace has its name
  };
  struct Kept {
    Rank rank;
    std::optional<Capture> capture;
    bool ended = false;  ///< the process; the trigger has not read the outcome yet
    std::int64_t shownNs = 0;
    std::int64_t countedNs = 0, countedStep = 0;  ///< where the pace was last taken
  };

  Keeper(const RunOptions& options, std::filesystem::path job, std::filesystem::path folder,
         StandbyFile page, std::optional<SelfCost> cost);
  void checkSlot(StandbySlot& slot);
  /// The process as this one numbers it; 0 where it has ended.
  std::uint32_t numberHere(std::uint64_t owner);
  Kept& known(std::uint64_t owner, const StandbySlot& slot, std::uint32_t pid);
  static void takePace(Kept& kept);
  void processEnded(std::uint64_t owner, StandbySlot& slot);
  void forgetEnded();
  void take(const Request& request, Kept& kept, StandbySlot& slot);
  void arm(const Request& request, Kept& kept, StandbySlot& slot);
  prof::Status prepare(const Request& request, Kept& kept);
  void follow(Kept& kept, StandbySlot& slot);
  void beginCapture(Kept& kept);
  void finishCapture(Kept& kept, Rank::State state, const std::string& reason = {});
  static void discardCapture(Kept& kept);
  void removeRecorded(const Kept& kept);
  void stop(Kept& kept, StandbySlot& slot);
  void answer(Kept& kept, Rank::State state, const std::string& reason = {});
  void show(Kept& kept);
  /// True while a lacuna trigger waits for what becomes of the rank.
  [[nodiscard]] bool isWanted(const Kept& kept) const;

  const RunOptions& options_;
  const std::filesystem::path job_;
  const std::filesystem::path folder_;  ///< of the page
  std::optional<StandbyFile> page_;
  std::optional<SelfCost> cost_;
  std::map<std::uint64_t, Kept> kept_;              ///< by owner
  std::map<std::uint64_t, std::uint32_t> numbers_;  ///< of owners in other PID namespaces, here
  std::optional<Request> request_;
  std::uint32_t captures_ = 0;
  bool busy_ = false;
};

}  // namespace lacuna::collector::standby
