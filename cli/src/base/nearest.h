// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// The word that `typed` may have been meant for; empty where all are more than two slips away.
std::string nearest(const std::vector<std::string>& words, const std::string& typed);
/// "; did you mean '--json'?" for an error; empty where nothing is near.
std::string didYouMean(const std::vector<std::string>& words, const std::string& typed);

}  // namespace lacuna::cli
