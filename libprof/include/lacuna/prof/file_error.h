// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// The system's words for a problem with a file (an errno), and what to do about it: "No space left
/// on device; free some space or write to another place".
std::string fileProblem(int code);
/// The same of the file that it befell, while it was to be written.
Error cannotBeWritten(const std::filesystem::path& path, int code);

/// Checks whether a file can be written at this path, as far as that shows beforehand. An error
/// names the obstacle and the remedy. For work that would take long before it fails.
Status checkTarget(const std::filesystem::path& path);

}  // namespace lacuna::prof
