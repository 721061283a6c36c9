// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli::mcp {
namespace {

/// A client may keep an answer for so long: a server's tools change with its program alone.
constexpr int kKeptMs = 3600 * 1000;

std::string idOrNull(const Message& request) {
  return request.id.empty() ? "null" : request.id;
}

}  // namespace

std::string_view agreedVersion(std::string_view wanted) {
  // Versions are dates, so their texts are in order.
  const auto known = std::ranges::find_if(
      kAgreedVersions, [&](std::string_view version) { return version <= wanted; });
  return known == kAgreedVersions.end() ? kAgreedVersions.front() : *known;
}

std::string versionList() {
  std::string list = fmt::format("[\"{}\"", kStatedVersion);
  for (const std::string_view version : kAgreedVersions) list += fmt::format(", \"{}\"", version);
  return list + "]";
}

std::string serverInfo() {
  return R"({"name": "lacuna", "title": "Lacuna", "version": ")" LACUNA_VERSION R"("})";
}

std::string resultReply(const Message& request, std::string_view members, Caching caching) {
  std::string stated;
  if (request.statedVersion) {
    stated = fmt::format(
        R"("resultType": "complete", "_meta": {{"io.modelcontextprotocol/serverInfo": {}}})",
        serverInfo());
    if (caching == Caching::AsLongAsItRuns)
      stated += fmt::format(R"(, "ttlMs": {}, "cacheScope": "public")", kKeptMs);
    if (!members.empty()) stated += ", ";
  }
  return fmt::format(R"({{"jsonrpc": "2.0", "id": {}, "result": {{{}{}}}}})", idOrNull(request),
                     stated, members);
}

std::string errorReply(const Message& request, const Refusal& refusal, std::string_view data) {
  return fmt::format(
      R"({{"jsonrpc": "2.0", "id": {}, "error": {{"code": {}, "message": {}{}{}}}}})",
      idOrNull(request), static_cast<std::int32_t>(refusal.fault),
      analyzer::jsonText(refusal.message), data.empty() ? "" : R"(, "data": )", data);
}

std::string textWithin(std::string_view head, std::uint64_t bytes, std::size_t most,
                       std::string_view advice) {
  if (bytes <= most && bytes == head.size()) return std::string(head);
  const auto note = [&](std::uint64_t shown) {
    return fmt::format("[{} of {} left out; {}]\n", prof::bytesText(bytes - shown),
                       prof::bytesText(bytes), advice);
  };
  const std::size_t longest = note(0).size() + 8;
  const std::string_view fits = analyzer::headOf(head, most > longest ? most - longest : 0);
  const std::size_t lines = fits.rfind('\n');
  const std::string_view shown = lines == std::string_view::npos ? fits : fits.substr(0, lines + 1);
  return fmt::format("{}{}{}", shown, shown.empty() || shown.ends_with('\n') ? "" : "\n",
                     note(shown.size()));
}

}  // namespace lacuna::cli::mcp
