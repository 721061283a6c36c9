// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The reason why a program has other rights than its caller's.
enum class Privilege { None, UserId, GroupId, Capabilities };

/// A program as execvp would run it, and what about it limits a recording.
struct Program {
  std::filesystem::path path;
  /// The file that the kernel loads: the interpreter of a script, else the program itself.
  std::filesystem::path image;
  Privilege privilege = Privilege::None;
  bool staticBinary = false;
  bool foreignArchitecture = false;

  /// One sentence for each thing that cannot be recorded, with its remedy.
  [[nodiscard]] std::vector<std::string> limits() const;
};

/// The image that the kernel has loaded, by its file; one that cannot be read is taken for one that
/// can be recorded.
Program inspectImage(const std::filesystem::path& image);
/// In two words why no recorder enters it, and what helps; both empty where one does.
struct Obstacle {
  std::string what;
  std::string remedy;
};
Obstacle obstacleOf(const Program& program);

bool beginsAsElf(std::string_view content);
/// A program or library, whatever else is wrong with it.
bool isElf(const std::filesystem::path& file);

/// Finds `name` the way execvp does. Fails with a remedy where it is missing, a folder, or not
/// executable.
prof::Result<Program> findProgram(const std::string& name);

}  // namespace lacuna::collector
