// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "sampler/stacks.h"

namespace lacuna::collector::sampler {
namespace {

using symbols::Naming;

/// Number of files that a note names among those without names.
constexpr std::size_t kFilesListed = 5;
/// All modules together.
constexpr std::chrono::minutes kMostTime{5};

/// The files that gave no names, by what was wrong.
class NamelessFiles {
 public:
  void add(Naming naming, const std::string& path) {
    files_[static_cast<std::size_t>(naming)].push_back(path);
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const auto note = [&](Naming naming, std::string_view what) {
      const auto& files = files_[static_cast<std::size_t>(naming)];
      if (files.empty()) return;
      const std::size_t listed = std::min(files.size(), kFilesListed);
      notes.push_back(fmt::format(
          "CPU samples have addresses instead of names in {}{}: {}",
          fmt::join(files.data(), files.data() + listed, ", "),
          files.size() > listed ? fmt::format(" and {} more", files.size() - listed) : "", what));
    };
    note(Naming::Differs,
         "lacuna found another file under that name than the one that ran (in a container or "
         "chroot, or it was replaced since). Remedy: start lacuna run where the program sees its "
         "files, and keep them until it ends");
    note(Naming::NoFile,
         "what has that name now is no file. Remedy: keep programs and libraries until lacuna run "
         "has ended");
    note(Naming::TookTooLong,
         "reading its symbols took too long. Remedy: strip it, or look it up by address");
    note(Naming::Failed,
         "its symbols could not be read. Remedy: build it anew, or look it up by address");
    note(Naming::Stopped,
         "a signal ended the search for names. Remedy: let lacuna run end by itself");
    return notes;
  }

 private:
  std::array<std::vector<std::string>, static_cast<std::size_t>(Naming::Stopped) + 1> files_;
};

}  // namespace

FrameNames Stacks::name(const NamingHelp& help) const {
  FrameNames names;
  names.symbols.reserve(frames_.size());
  std::vector<std::vector<std::size_t>> framesOf(modules_.size());
  for (const Frame& frame : frames_) {
    framesOf[frame.module].push_back(names.symbols.size());
    names.symbols.push_back({frame.offset, {}, {}, 0});
  }
  if (!symbols::Symbolizer::available()) return names;
  NamelessFiles nameless;
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  bool stopped = false;
  for (std::size_t module = 0; module < modules_.size(); ++module) {
    const symbols::ModuleFile& file = modules_[module];
    if (framesOf[module].empty() || !file.path.starts_with('/')) continue;
    std::vector<std::uint64_t> offsets;
    for (const std::size_t frame : framesOf[module]) offsets.push_back(frames_[frame].offset);
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    std::vector<symbols::Symbol> found;
    Naming naming = stopped ? Naming::Stopped : Naming::TookTooLong;
    if (!stopped && std::chrono::steady_clock::now() < end) {
      const int fd = help.fileOf ? help.fileOf(file) : -1;
      naming = symbols::nameModule(file, fd, offsets, help.limits, help.stop, found);
      stopped = naming == Naming::Stopped;
    }
    nameless.add(naming, file.path);
    if (found.empty()) continue;
    for (const std::size_t frame : framesOf[module]) {
      const auto at = std::lower_bound(offsets.begin(), offsets.end(), frames_[frame].offset);
      names.symbols[frame] = found[static_cast<std::size_t>(at - offsets.begin())];
    }
  }
  names.notes = nameless.notes();
  return names;
}

}  // namespace lacuna::collector::sampler
