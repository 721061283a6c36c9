// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "timeline/treemap.h"

/// The memory that is alive at a moment, as nested areas: roles, in them what made the blocks, in
/// that the blocks.
namespace lacuna::gui {

/// Blocks that belong together: those of one origin, an operator or a tensor. The numbers in a
/// tensor's name do not distinguish origins ("layer.3.weight", "layer.4.weight"), and blocks that
/// nobody named go by their size.
struct BlockGroup {
  std::string name;  ///< "layer.#.weight" where several names meet; empty where nobody named it
  std::size_t first = 0;  ///< in BlockTree::order, largest block first
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

struct RoleGroup {
  prof::MemoryRole role = prof::MemoryRole::Other;
  std::size_t first = 0;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<BlockGroup> groups;  ///< largest first
};

struct BlockTree {
  std::vector<std::uint32_t>
      order;  ///< positions in the list of blocks, so that each group's are together
  std::vector<std::uint64_t> sizes;  ///< of the blocks, in that order
  std::vector<RoleGroup> roles;      ///< largest first
};

/// Up to this many blocks there is no need for origins: each is a group of its own.
inline constexpr std::size_t kFewBlocks = 200;

/// The blocks come largest first, as in a MemoryMoment.
BlockTree groupBlocks(std::span<const analyzer::LiveBlock> live);

struct MapTile {
  enum class Kind : std::uint8_t {
    Role,    ///< a frame around everything of a role
    Origin,  ///< a frame around the blocks of one origin
    Block,   ///< one block
    Blocks,  ///< all blocks of one origin in one tile, where there is no room for each
    Rest,    ///< those beside them that are too small to be seen
  };
  Kind kind = Kind::Block;
  Tile place;
  Tile header;  ///< where a frame's label goes; empty where there is no room for one
  prof::MemoryRole role = prof::MemoryRole::Other;
  const BlockGroup* group = nullptr;  ///< of the tree; null for a role, and for the rest of a role
  std::size_t first = 0;              ///< in BlockTree::order
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

/// Tiles of every block, frames before what is in them; together, those that are no frames hold
/// each block once. The tree must outlive them.
std::vector<MapTile> layOutBlocks(const BlockTree& tree, const Tile& into);

}  // namespace lacuna::gui
