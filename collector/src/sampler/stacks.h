// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/recording.h"

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

/// The call stacks of all processes as one tree, each frame with its caller, the same place of a library being one
/// place whatever process it is in.
class Stacks {
 public:
  std::uint32_t moduleOf(const std::string& path);
  /// The innermost frame of a chain given from the inside out; none for an empty one.
  prof::FrameId add(const AddressSpace& space, const std::vector<std::uint64_t>& chain, prof::Drainer::Access& access);
  /// The frames, with their names. Takes time: it reads the symbols of each library.
  void write(prof::Drainer& drainer) const;
  [[nodiscard]] std::size_t size() const { return frames_.size(); }

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
      return (key.offset * 0x9e3779b97f4a7c15u) ^ (static_cast<std::uint64_t>(key.parent) << 20) ^ key.module;
    }
  };
  std::vector<std::string> modules_{std::string()};
  std::unordered_map<std::string, std::uint32_t> moduleIds_;
  std::unordered_map<Key, prof::FrameId, Hash> ids_;
  std::vector<Frame> frames_;
};

}  // namespace lacuna::collector::sampler
