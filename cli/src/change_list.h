// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// The changes that `lacuna whatif` knows, in lists.
namespace lacuna::cli {

/// For people, at 80 columns.
std::string changeListText();
/// One object (docs/analyses/whatif.md), with a line feed.
std::string changeListJson();
/// The beginnings of all changes, as shells propose them: "amp=on", "loader.workers=", "copy*",
/// "kernel:".
std::vector<std::string> changeBeginnings();

}  // namespace lacuna::cli
