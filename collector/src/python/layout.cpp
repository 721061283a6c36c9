// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/layout.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace lacuna::collector::python {
namespace {

/// An interpreter's state has some 100 KiB; the list of threads is at its beginning.
constexpr std::uint64_t kMostOffset = 1 << 16;
constexpr std::uint32_t kMostSize = 4096;
constexpr std::size_t kMostNames = 64;

/// "name number" on each line.
class Numbers {
 public:
  explicit Numbers(std::string_view text) {
    while (!text.empty() && numbers_.size() < kMostNames) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  std::optional<std::uint64_t> find(std::string_view name) const {
    const auto at = numbers_.find(name);
    return at != numbers_.end() ? std::optional(at->second) : std::nullopt;
  }
  std::uint64_t take(std::string_view name, std::uint64_t most = INT64_MAX) {
    const auto found = find(name);
    complete_ &= found && *found <= most;
    return found && *found <= most ? *found : 0;
  }
  std::uint32_t offset(std::string_view name) {
    return static_cast<std::uint32_t>(take(name, kMostOffset));
  }
  std::optional<std::uint32_t> maybe(std::string_view name) {
    return find(name) ? std::optional(offset(name)) : std::nullopt;
  }
  /// False once something was missing or too large.
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  void add(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return;
    std::uint64_t value = 0;
    const char* end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + space + 1, end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end)
      numbers_.emplace(line.substr(0, space), value);
  }
  std::map<std::string_view, std::uint64_t> numbers_;
  bool complete_ = true;
};

/// The bytes read of an object must hold every field that is taken from it.
bool fits(const Layout& layout) {
  const auto inCode = [&](std::uint32_t offset, std::uint32_t size) {
    return offset + size <= layout.code.size;
  };
  const auto inFrame = [&](std::uint32_t offset, std::uint32_t size) {
    return offset + size <= layout.frame.size;
  };
  const bool code = layout.code.size <= kMostSize && inCode(layout.code.type, 8) &&
                    inCode(layout.code.file, 8) && inCode(layout.code.name, 8) &&
                    inCode(layout.code.table, 8) && inCode(layout.code.firstLine, 4) &&
                    (!layout.code.units || inCode(*layout.code.units, 8));
  const bool frame = layout.frame.size <= kMostSize && inFrame(layout.frame.back, 8) &&
                     inFrame(layout.frame.code, 8);
  const bool place = layout.frame.instruction
                         ? inFrame(*layout.frame.instruction, 8) && inFrame(layout.frame.owner, 1)
                         : inFrame(layout.frame.lastInstruction, 4) && inFrame(layout.code.type, 8);
  return code && frame && place && (layout.thread.frame || layout.thread.cframe);
}

}  // namespace

std::optional<Layout> parseLayout(std::string_view announcement) {
  Numbers numbers(announcement);
  // The last line: the file may still be being written.
  if (!numbers.find("end")) return std::nullopt;
  Layout layout;
  layout.pid = static_cast<std::uint32_t>(numbers.take("pid", INT32_MAX));
  layout.pidNamespace = numbers.find("namespace").value_or(0);
  layout.isHelper = numbers.find("helper").value_or(0) != 0;
  layout.drawsBar = numbers.find("bar").value_or(0) != 0;
  layout.interpreter = numbers.take("interpreter");
  layout.codeType = numbers.take("code_type");
  layout.thread.threads = numbers.offset("threads");
  layout.thread.next = numbers.offset("next");
  layout.thread.id = numbers.offset("id");
  layout.thread.frame = numbers.maybe("frame");
  layout.thread.cframe = numbers.maybe("cframe");
  if (layout.thread.cframe) layout.thread.cframeFrame = numbers.offset("cframe_frame");
  layout.thread.chunk = numbers.maybe("chunk");
  layout.thread.tid = numbers.offset("tid");
  layout.frame.back = numbers.offset("back");
  layout.frame.code = numbers.offset("code");
  layout.frame.instruction = numbers.maybe("instruction");
  layout.code.type = numbers.offset("type");
  if (layout.frame.instruction) {
    layout.frame.owner = numbers.offset("owner");
    layout.frame.size = numbers.offset("frame_size");
    layout.code.bytecode = numbers.offset("bytecode");
    layout.code.units = numbers.offset("units");
  } else {
    layout.frameType = numbers.take("frame_type");
    layout.frame.lastInstruction = numbers.offset("lasti");
    layout.frame.size =
        std::max({layout.frame.lastInstruction + 4, layout.frame.back + 8, layout.frame.code + 8});
  }
  layout.code.size = numbers.offset("code_size");
  layout.code.file = numbers.offset("file");
  layout.code.name = numbers.offset("name");
  layout.code.firstLine = numbers.offset("first_line");
  layout.code.table = numbers.offset("table");
  const std::uint64_t lines =
      numbers.take("lines", static_cast<std::uint64_t>(LineTable::Locations));
  if (lines == 0) return std::nullopt;
  layout.code.lines = static_cast<LineTable>(lines);
  layout.bytes = {numbers.offset("bytes_size"), numbers.offset("bytes_data")};
  layout.text = {numbers.offset("text_length"), numbers.offset("text_state"),
                 static_cast<std::uint32_t>(numbers.take("text_kind_shift", 24)),
                 numbers.offset("text_ascii"), numbers.offset("text_wide")};
  if (!numbers.complete() || layout.pid == 0 || !fits(layout)) return std::nullopt;
  return layout;
}

}  // namespace lacuna::collector::python
