// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>

/// Processes of other PID namespaces, as containers have them: such a process has one number for
/// itself and another one here.
namespace lacuna::prof {

/// A process as it numbers itself.
struct OwnNumber {
  std::uint32_t pid = 0;
  std::uint64_t pidNamespace =
      0;  ///< the inode of its /proc/self/ns/pid; 0 when it does not know, taken for ours
  std::uint64_t startTicks = 0;  ///< of its /proc/self/stat, 0 when it does not know
};

struct FoundProcess {
  enum class Where : std::uint8_t {
    Here,   ///< it runs
    Gone,   ///< it has ended
    Unseen  ///< not known here: its namespace is not below ours, or it may be that and had ended
            ///< before we looked
  };
  Where where = Where::Unseen;
  std::uint32_t pid = 0;     ///< its number here; 0 unless it is here
  std::uint32_t parent = 0;  ///< of its parent, 0 when that is not known
};

/// The inode of a process's ns/pid in /proc, 0 when it is unknown. Inline, because the libraries
/// that enter other programs link nothing.
inline std::uint64_t pidNamespaceAt(const char* link = "/proc/self/ns/pid") {
  struct stat status {};
  return stat(link, &status) == 0 ? status.st_ino : 0;
}
/// Ours, asked for once.
std::uint64_t ownPidNamespace();
/// True for a number of another namespace than ours.
bool isForeign(const OwnNumber& number);
/// Looks through /proc for a process of another namespace: some 10 µs for each process of the
/// machine. Safe from any thread.
FoundProcess findProcess(const OwnNumber& number);
/// The number here of the thread that calls itself `ownTid`, in a process that is here; 0 when
/// there is none.
std::uint32_t findThread(std::uint32_t pid, std::uint32_t ownTid);

/// True while a process of that number here runs; with `startTicks` other than 0 only the one that
/// began then.
bool processIsAlive(std::uint32_t osPid, std::uint64_t startTicks);

}  // namespace lacuna::prof
