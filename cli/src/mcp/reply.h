// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/message.h"

namespace lacuna::cli::mcp {

/// The version without a handshake: each request states it.
inline constexpr std::string_view kStatedVersion = "2026-07-28";
/// Those that `initialize` agrees on, newest first. 2025-03-26 is missing, because it alone demands
/// batches.
inline constexpr std::array<std::string_view, 3> kAgreedVersions{"2025-11-25", "2025-06-18",
                                                                 "2024-11-05"};

/// The newest agreed version that is not newer than the client's: that one the client knows most
/// likely. The newest of all where the client names none of these.
std::string_view agreedVersion(std::string_view wanted);
/// `["2026-07-28", …]`
std::string versionList();

/// Name and version of this server as a JSON object.
std::string serverInfo();

enum class Caching : std::uint8_t { None, AsLongAsItRuns };
/// A response in one line, without its end. `members` are those of the result: `"tools": []`. A
/// request that states its version gets the members, too, which that version demands.
std::string resultReply(const Message& request, std::string_view members,
                        Caching caching = Caching::None);
/// `data` is JSON, if anything.
std::string errorReply(const Message& request, const Refusal& refusal, std::string_view data = {});

/// The head of a text of `bytes` bytes, cut to `most` bytes. The cut is at the end of a line. The
/// last line then has the size of the rest and `advice`, the way to ask for less.
std::string textWithin(std::string_view head, std::uint64_t bytes, std::size_t most,
                       std::string_view advice);

}  // namespace lacuna::cli::mcp
