// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// Unpacks the packets that a packet holds compressed, with Zstandard or zlib, into `out`. Takes
/// memory as it goes, and not on the word of the header. False where the data break off, are
/// damaged or become too long.
bool unpackZstd(std::string_view bytes, std::string& out);
bool unpackZlib(std::string_view bytes, std::string& out);

}  // namespace lacuna::analyzer
