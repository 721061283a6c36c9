// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lacuna/prof/recording.h"
#include "symbols/module_file.h"
#include "symbols/name_module.h"
#include "symbols/symbolizer.h"

namespace lacuna::collector::sampler {

/// Where code lies in one process.
class AddressSpace {
 public:
  struct Piece {
    std::uint64_t end = 0;
    std::uint64_t fileOffset = 0;
    std::uint32_t module = 0;
  };
  /// Replaces what was there.
  void map(std::uint64_t start, const Piece& piece);
  /// The piece around the address and where that begins, or null.
  [[nodiscard]] const std::pair<const std::uint64_t, Piece>* find(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, Piece> pieces_;
};

/// Help for finding the names of frames.
struct NamingHelp {
  /// A file that is open, for modules that their path does not lead to; -1 for others.
  std::function<int(const symbols::ModuleFile&)> fileOf;
  /// Asked often: whether names are not wanted any more.
  std::function<bool()> stop;
  symbols::NamingLimits limits;
};

struct FrameNames {
  std::vector<symbols::Symbol> symbols;  ///< of the frames, in their order
  std::vector<std::string> notes;        ///< which files gave no names, and why
};

/// The call stacks of all processes as one tree, each frame with its caller. A place in a library
/// is one place in every process.
class Stacks {
 public:
  std::uint32_t moduleOf(const symbols::ModuleFile& file);
  /// The innermost frame of a chain given from the inside out; none for an empty one.
  prof::FrameId add(const AddressSpace& space, const std::vector<std::uint64_t>& chain,
                    prof::Drainer::Access& access);
  /// Takes time: it reads the symbols of each library. A frame gets no name of a file that it did
  /// not come from.
  [[nodiscard]] FrameNames name(const NamingHelp& help = {}) const;
  void write(const FrameNames& names, prof::Drainer::Access& access) const;
  [[nodiscard]] std::size_t size() const { return frames_.size(); }

  /// The entries since the last call, as bytes to be kept one after the other for load().
  std::string takeJournal() { return std::exchange(journal_, {}); }
  /// Fills an empty one from the journal, as far as it goes, but for frames numbered `end` and
  /// above. False when something in it makes no sense; what stood before that is there.
  bool load(std::string_view journal, prof::FrameId end);

 private:
  struct Frame {
    prof::FrameId id, parent;
    std::uint32_t module;
    std::uint64_t offset;
  };
  struct Key {
    std::uint32_t parent, module;
    std::uint64_t offset;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (key.offset * 0x9e3779b97f4a7c15u) ^ (static_cast<std::uint64_t>(key.parent) << 20) ^
             key.module;
    }
  };
  std::vector<symbols::ModuleFile> modules_{symbols::ModuleFile()};
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::uint32_t> moduleIds_;
  std::unordered_map<Key, prof::FrameId, Hash> ids_;
  void keepModule(const symbols::ModuleFile& file);
  void keepFrame(const Frame& frame);

  std::vector<Frame> frames_;
  std::string journal_;
};

}  // namespace lacuna::collector::sampler
