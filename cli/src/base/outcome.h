// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lacuna::cli {

/// Exit codes of every command.
inline constexpr int kOk = 0;
inline constexpr int kError = 1;
inline constexpr int kUsage = 2;

/// The exit code of a command whose output did not arrive, or to which something unforeseen
/// happened.
inline int failureCode = kError;

/// The words after the first `--` of `lacuna run` or `tune`, as they were typed; nothing where
/// there is no `--`. The parser does not see them, because it splits words that look like a list.
inline std::optional<std::vector<std::string>> behindDashes;

}  // namespace lacuna::cli
