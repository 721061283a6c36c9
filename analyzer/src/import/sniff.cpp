// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "import/byte_source.h"
#include "import/importers.h"
#include "lacuna/analyzer/files.h"

namespace lacuna::analyzer {

namespace {

/// True when text follows a bracket as JSON has it: a line feed and a bracket alone may also be a packet's size.
bool looksLikeJson(std::string_view head) {
  const std::size_t bracket = head.find_first_not_of(" \t\r\n");
  if (bracket == std::string_view::npos || (head[bracket] != '{' && head[bracket] != '[')) return false;
  const std::size_t next = head.find_first_not_of(" \t\r\n", bracket + 1);
  return next == std::string_view::npos || std::string_view("\"{}[]").find(head[next]) != std::string_view::npos;
}

/// By the magic number, or by the first block where that is damaged.
bool looksLikeLcn(std::string_view head) {
  if (head.starts_with("\x89LCN\r\n\x1a\n")) return true;
  constexpr std::size_t kHeaderBytes = 64;
  constexpr std::string_view kMarker = "\xf7\xce\xb5\x62\x6c\x6b\x1a\n";
  return head.size() > kHeaderBytes && head.substr(kHeaderBytes).starts_with(kMarker);
}

}  // namespace

prof::Result<SourceKind> sniff(const std::filesystem::path& path) {
  auto source = ByteSource::open(path);
  if (!source) return source.error();
  char buffer[512];
  std::string_view head(buffer, (*source)->read(buffer, sizeof buffer));
  if (const std::string& problem = (*source)->problem(); head.empty() && !problem.empty()) {
    return prof::Error{fmt::format("{}: {}", path.string(), problem)};
  }
  if (head.empty()) return SourceKind::Empty;
  if (head.substr(0, 16) == std::string_view("SQLite format 3\0", 16)) return SourceKind::Sqlite;
  if (looksLikeLcn(head)) {
    if (!(*source)->isCompressed()) return SourceKind::Lcn;
    return prof::Error{
        fmt::format("{}: is a .lcn that was compressed, which it is inside; unpack it first", path.string())};
  }
  if (head.starts_with("version https://git-lfs.github.com/")) {
    return prof::Error{
        fmt::format("{}: is not the file itself but what Git LFS keeps in its place; `git lfs pull` fetches the file",
                    path.string())};
  }
  // Protocol 2 and later start with their number; a trace packet is field 1, length-delimited.
  if (head[0] == '\x80' && head.size() > 1 && head[1] >= 2 && head[1] <= 5) return SourceKind::Pickle;
  if (head[0] == '\x0a' && !looksLikeJson(head)) return SourceKind::Perfetto;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::size_t text = head.find_first_not_of(" \t\r\n");
  if (text != std::string_view::npos && (head[text] == '{' || head[text] == '[')) return SourceKind::Json;
  return SourceKind::Unknown;
}

std::string_view describe(SourceKind kind) {
  switch (kind) {
    case SourceKind::Empty:
      return "empty";
    case SourceKind::Lcn:
      return "Lacuna trace";
    case SourceKind::Json:
      return "Kineto or Chrome JSON";
    case SourceKind::Sqlite:
      return "SQLite export of Nsight Systems";
    case SourceKind::Perfetto:
      return "Perfetto trace";
    case SourceKind::Pickle:
      return "memory snapshot of PyTorch";
    case SourceKind::Unknown:
      break;
  }
  return "unknown";
}

}  // namespace lacuna::analyzer
