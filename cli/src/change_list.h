// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The changes that `lacuna whatif` knows, in lists.
namespace lacuna::cli {

/// For people, at 80 columns.
std::string changeListText();
/// One object (docs/analyses/whatif.md), with a line feed.
std::string changeListJson();

}  // namespace lacuna::cli
