// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"

namespace lacuna::cli {

/// The options that name an output, as typed.
struct Target {
  std::string path;
  bool force = false;
};

/// Adds -o, which names the output, and --force.
Option addTarget(Command& command, Target& target, const std::string& description);
/// Adds -o for a command that may write several files, each after its own -o, and --force.
struct Targets {
  std::vector<std::string> paths;
  bool force = false;
};
Option addTargets(Command& command, Targets& targets, const std::string& description);

/// Why a command that must have -o cannot run without it, with the call spelled right: `call` is
/// the command and its other words, `likely` the word that was meant as the output, or a made-up
/// one.
std::string withoutTarget(std::string_view call, std::string_view likely);

/// Why --force is of no use, or nothing: there is no -o whose file it could replace.
std::string forcesNothing(const Target& target);

/// A file that a command writes. No command replaces a file without --force, or one of its own
/// inputs at all. A file gets its name when it is whole, so an older one is there until then; a
/// signal that ends the command removes what was written. Devices, pipes and open files
/// (/dev/stdout) are written as they stand.
class OutputFile {
 public:
  /// Checks what can be checked before the work. `inputs` are the files and folders that the
  /// command reads.
  static prof::Result<OutputFile> check(const Target& target,
                                        std::span<const std::string> inputs = {});

  /// As it was typed, for messages.
  [[nodiscard]] const std::string& name() const { return target_.path; }
  [[nodiscard]] prof::Existing existing() const {
    return target_.force ? prof::Existing::Replace : prof::Existing::Keep;
  }
  /// Has `write` make the file under the path that it gets. One at a time in a process.
  [[nodiscard]] prof::Status write(
      const std::function<prof::Status(const std::filesystem::path&)>& write) const;
  [[nodiscard]] prof::Status writeText(std::string_view text) const;
  /// For `work` that calls prof::writeAtomically() itself, with name() and existing().
  [[nodiscard]] prof::Status whileWriting(const std::function<prof::Status()>& work) const;

 private:
  explicit OutputFile(Target target) : target_(std::move(target)) {}

  Target target_;
};

}  // namespace lacuna::cli
