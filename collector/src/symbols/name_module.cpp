// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_module.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/limited_child.h"
#include "core/regular_file.h"

namespace lacuna::collector::symbols {
namespace {

constexpr std::uint32_t kLongestText = 64 << 10;

/// The child's answer for one place, before its two texts.
struct SymbolRecord {
  std::uint64_t address;
  std::uint32_t line;
  std::uint32_t functionBytes;
  std::uint32_t fileBytes;
};

void writeSymbol(int fd, const Symbol& symbol) {
  const auto bounded = [](const std::string& text) {
    return std::min(static_cast<std::uint32_t>(text.size()), kLongestText);
  };
  const SymbolRecord record{symbol.address, symbol.line, bounded(symbol.function),
                            bounded(symbol.file)};
  std::string bytes(reinterpret_cast<const char*>(&record), sizeof record);
  bytes.append(symbol.function, 0, record.functionBytes).append(symbol.file, 0, record.fileBytes);
  writeAll(fd, bytes.data(), bytes.size());
}

void writeNaming(int fd, Naming naming) {
  writeAll(fd, reinterpret_cast<const char*>(&naming), sizeof naming);
}

/// The child's part.
void nameIn(const ModuleFile& module, int fd, const std::vector<std::uint64_t>& offsets,
            const NamingLimits& limits, int out) {
  const int file = fd >= 0 ? fd : openRegularFile(module.path);
  if (file < 0) {
    struct stat status {};
    const bool there = stat(module.path.c_str(), &status) == 0;
    return writeNaming(out, there && !S_ISREG(status.st_mode) ? Naming::NoFile : Naming::NotThere);
  }
  if (!isFileOf(module, file)) return writeNaming(out, Naming::Differs);
  struct stat status {};
  // Separate debug information may be larger than the file, and is mapped too.
  if (fstat(file, &status) == 0)
    limitMemory(limits.moreMemory + 2 * static_cast<std::uint64_t>(status.st_size));
  writeNaming(out, Naming::Done);
  Symbolizer symbolizer(file, module.path);
  for (const std::uint64_t offset : offsets) writeSymbol(out, symbolizer.find(offset));
}

/// Takes what has come as far as it is whole. False where it makes no sense.
bool takeRecords(std::string& bytes, std::vector<Symbol>& symbols, std::size_t& named) {
  std::size_t at = 0;
  SymbolRecord record{};
  while (bytes.size() - at >= sizeof record) {
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (named == symbols.size() || record.functionBytes > kLongestText ||
        record.fileBytes > kLongestText)
      return false;
    if (bytes.size() - at - sizeof record < std::size_t{record.functionBytes} + record.fileBytes)
      break;
    at += sizeof record;
    Symbol& symbol = symbols[named++];
    symbol.address = record.address;
    symbol.line = record.line;
    symbol.function.assign(bytes, at, record.functionBytes);
    symbol.file.assign(bytes, at + record.functionBytes, record.fileBytes);
    at += std::size_t{record.functionBytes} + record.fileBytes;
  }
  bytes.erase(0, at);
  return true;
}

/// The child's answers so far.
class Listener {
 public:
  explicit Listener(std::vector<Symbol>& symbols) : symbols_(symbols) {}

  bool take(std::string& bytes) {
    if (!sent_) {
      std::memcpy(&result_, bytes.data(), sizeof result_);
      bytes.erase(0, sizeof result_);
      if (result_ > Naming::Differs) return false;
      sent_ = true;
    }
    return takeRecords(bytes, symbols_, named_);
  }
  /// At the end of all its answers.
  [[nodiscard]] Naming result() const {
    if (!sent_) return Naming::Failed;
    return result_ == Naming::Done && named_ < symbols_.size() ? Naming::Failed : result_;
  }

 private:
  std::vector<Symbol>& symbols_;
  std::size_t named_ = 0;
  Naming result_ = Naming::Failed;
  bool sent_ = false;
};

}  // namespace

Naming nameModule(const ModuleFile& module, int fd, const std::vector<std::uint64_t>& offsets,
                  const NamingLimits& limits, const std::function<bool()>& stop,
                  std::vector<Symbol>& symbols) {
  symbols.clear();
  for (const std::uint64_t offset : offsets) symbols.push_back({offset, {}, {}, 0});
  Listener listener(symbols);
  const auto work = [&](int out) { nameIn(module, fd, offsets, limits, out); };
  const auto end =
      runLimited(limits, stop, work, [&](std::string& bytes) { return listener.take(bytes); });
  switch (end) {
    case ChildEnd::Over:
      return listener.result();
    case ChildEnd::TookTooLong:
      return Naming::TookTooLong;
    case ChildEnd::Stopped:
      return Naming::Stopped;
    default:
      return Naming::Failed;
  }
}

}  // namespace lacuna::collector::symbols
