// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/prof/result.h"

/// The files through which `lacuna trigger` and the keepers of a job meet, in the job's folder. The
/// folder may be on a file system that machines share. So a file is replaced as a whole and read by
/// its name, and each read reaches the server. Nothing else connects the machines.
namespace lacuna::collector::standby {

/// A process, seen from any machine.
struct Address {
  std::string host;
  std::string boot;  ///< of the machine's kernel, since it was started
  std::uint32_t pid = 0;
  std::uint64_t pidNamespace = 0;

  bool operator==(const Address&) const = default;
  /// "process 123 on node7"
  [[nodiscard]] std::string text() const;
};
Address ownAddress();
/// True when it has certainly ended. One on another machine never has.
bool hasEnded(const Address& process);

/// The wish of a `lacuna trigger`. Keepers answer in the files of their ranks.
struct Request {
  enum class Phase : std::uint8_t {
    None,  ///< nobody wants anything
    Ask,   ///< at which step are you?
    Go,    ///< record from step `from` on
    Stop   ///< end what you record, and forget the rest
  };
  Phase phase = Phase::None;
  std::string token;         ///< no other request has it
  std::uint32_t number = 0;  ///< in the names of the files
  std::int64_t from = 0;
  std::int64_t steps = 0;
  std::string instead;  ///< the token of a request that failed: keepers remove its files
};
inline constexpr const char* kRequestFile = "request";
prof::Status write(const std::filesystem::path& job, const Request& request);
/// Nothing where there is no such file, or it is damaged.
std::optional<Request> readRequest(const std::filesystem::path& job);

/// A rank as its keeper sees it, and the answer to the request of `token`.
struct Rank {
  enum class State : std::uint8_t { Standby, Ready, Armed, Missed, Recording, Finished, Failed };
  std::int32_t rank = 0;
  std::int32_t world = -1;  ///< number of ranks; -1: not known
  Address process;
  Address keeper;
  std::int64_t step = 0;
  std::int64_t stepNs = 0;  ///< length of one; 0: not known yet
  State state = State::Standby;
  std::string token;
  std::string file;         ///< of a recording that is finished, or was begun
  std::string reason;       ///< why it failed
  std::uint64_t beats = 0;  ///< rises while there is a request, as a sign of life
};
prof::Status write(const std::filesystem::path& job, const Rank& rank);
void removeRank(const std::filesystem::path& job, const Rank& rank);
/// The ranks of all files in the folder that can be read, in order.
std::vector<Rank> readRanks(const std::filesystem::path& job);
std::optional<Rank> readRank(const std::filesystem::path& file);
std::filesystem::path fileOf(const std::filesystem::path& job, const Rank& rank);

/// capture-3.rank0.lcn
std::string captureName(std::uint32_t number, std::int32_t rank);
/// The number after all that captures in the folder have.
std::uint32_t nextCapture(const std::filesystem::path& job);

/// The right to trigger, which one process has at a time. Given back when it is destroyed.
class TriggerLock {
 public:
  static prof::Result<TriggerLock> take(const std::filesystem::path& job);
  TriggerLock(TriggerLock&& other) noexcept : file_(std::exchange(other.file_, {})) {}
  TriggerLock& operator=(TriggerLock&&) = delete;
  ~TriggerLock();

 private:
  explicit TriggerLock(std::filesystem::path file) : file_(std::move(file)) {}
  std::filesystem::path file_;
};

}  // namespace lacuna::collector::standby
