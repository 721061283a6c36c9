// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/memory_map.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace lacuna::gui {

namespace {

constexpr double kRoleHeader = 18;
constexpr double kOriginHeader = 16;
constexpr double kGap = 3;
/// A frame needs as much, for its label and something under it.
constexpr double kFrameWidth = 64;
constexpr double kFrameHeight = 40;
/// An area that is smaller, in pixels, is neither seen nor hit.
constexpr double kLeastBlock = 100;
constexpr double kLeastOrigin = 220;
constexpr double kLeastOfFew = 12;

/// "layer.12.weight" as "layer.#.weight".
std::string withoutNumbers(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !out.empty() && out.back() == '#') continue;
    out += digit ? '#' : c;
  }
  return out;
}

std::string originOf(const analyzer::LiveTensor& tensor) {
  if (!tensor.op.empty()) return std::string(tensor.op);
  if (!tensor.tensor.empty()) return withoutNumbers(tensor.tensor);
  return '\n' + std::to_string(tensor.bytes);  // no name begins so
}

std::string nameOf(std::span<const analyzer::LiveBlock> live,
                   std::span<const std::uint32_t> blocks) {
  const analyzer::LiveTensor& tensor = live[blocks.front()].tensor;
  if (!tensor.op.empty() && blocks.size() > 1) return std::string(tensor.op);
  const std::string_view name = tensor.tensor.empty() ? tensor.op : tensor.tensor;
  const bool same = std::all_of(blocks.begin(), blocks.end(), [&](std::uint32_t at) {
    return live[at].tensor.tensor == tensor.tensor;
  });
  return same ? std::string(name) : withoutNumbers(name);
}

/// Blocks of one role as groups, the largest first.
std::vector<std::vector<std::uint32_t>> originsOf(std::span<const analyzer::LiveBlock> live,
                                                  const std::vector<std::uint32_t>& blocks) {
  std::vector<std::vector<std::uint32_t>> out;
  std::unordered_map<std::string, std::size_t> known;
  for (const std::uint32_t at : blocks) {
    std::size_t group = out.size();
    if (live.size() > kFewBlocks)
      group = known.try_emplace(originOf(live[at].tensor), out.size()).first->second;
    if (group == out.size()) out.emplace_back();
    out[group].push_back(at);
  }
  return out;
}

void addRole(std::span<const analyzer::LiveBlock> live, const std::vector<std::uint32_t>& blocks,
             BlockTree& tree) {
  RoleGroup role{.role = live[blocks.front()].tensor.role,
                 .first = 0,
                 .count = blocks.size(),
                 .bytes = 0,
                 .groups = {}};
  const auto origins = originsOf(live, blocks);
  std::vector<std::uint64_t> bytes;
  for (const auto& origin : origins) {
    std::uint64_t sum = 0;
    for (const std::uint32_t at : origin) sum += live[at].tensor.bytes;
    bytes.push_back(sum);
    role.bytes += sum;
  }
  std::vector<std::size_t> order(origins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  role.first = tree.order.size();
  for (const std::size_t n : order) {
    role.groups.push_back(
        {nameOf(live, origins[n]), tree.order.size(), origins[n].size(), bytes[n]});
    for (const std::uint32_t at : origins[n]) {
      tree.order.push_back(at);
      tree.sizes.push_back(live[at].tensor.bytes);
    }
  }
  tree.roles.push_back(std::move(role));
}

double areaOf(const Tile& tile) {
  return tile.width * tile.height;
}

bool roomy(const Tile& tile) {
  return tile.width >= kFrameWidth && tile.height >= kFrameHeight;
}

/// A tile with so much taken off its sides.
Tile inset(const Tile& tile, double left, double top, double right, double bottom) {
  return {tile.x + left, tile.y + top, std::max(0.0, tile.width - left - right),
          std::max(0.0, tile.height - top - bottom)};
}

/// Sizes divided among an area: the largest have a place each, those that would be too small share
/// one.
struct Division {
  std::vector<Tile> places;  ///< of the first so many
  Tile rest;
};
Division divide(const std::vector<double>& sizes, const Tile& into, double leastArea) {
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const double scale = total > 0 ? areaOf(into) / total : 0;
  auto small = std::partition_point(sizes.begin(), sizes.end(),
                                    [&](double size) { return size * scale >= leastArea; });
  if (sizes.end() - small == 1) ++small;  // alone it shares nothing
  std::vector<double> shown(sizes.begin(), small);
  const double others = std::accumulate(small, sizes.end(), 0.0);
  // Together they may be larger than others.
  const auto at =
      std::partition_point(shown.begin(), shown.end(), [&](double size) { return size >= others; });
  const auto place = at - shown.begin();
  if (small != sizes.end()) shown.insert(at, others);
  Division out{treemap(shown, into), {}};
  if (small != sizes.end()) {
    out.rest = out.places[static_cast<std::size_t>(place)];
    out.places.erase(out.places.begin() + place);
  }
  return out;
}

class Layout {
 public:
  explicit Layout(const BlockTree& tree) : tree_(tree) {}

  std::vector<MapTile> run(const Tile& into) {
    std::vector<double> sizes;
    for (const RoleGroup& role : tree_.roles) sizes.push_back(static_cast<double>(role.bytes));
    const auto places = treemap(sizes, into);
    for (std::size_t n = 0; n < places.size(); ++n) placeRole(tree_.roles[n], places[n]);
    return std::move(tiles_);
  }

 private:
  void placeRole(const RoleGroup& role, const Tile& place) {
    role_ = role.role;
    MapTile frame = tile(MapTile::Kind::Role, place, nullptr, role.first, role.count, role.bytes);
    const bool labelled = roomy(place);
    if (labelled) frame.header = {place.x, place.y, place.width, kRoleHeader};
    tiles_.push_back(frame);
    const double gap = std::min({kGap, place.width / 4, place.height / 4});
    const Tile inside = inset(place, 0, labelled ? kRoleHeader : 0, gap, gap);
    std::vector<double> sizes;
    for (const BlockGroup& group : role.groups) sizes.push_back(static_cast<double>(group.bytes));
    const Division division =
        divide(sizes, inside, tree_.order.size() > kFewBlocks ? kLeastOrigin : kLeastOfFew);
    for (std::size_t n = 0; n < division.places.size(); ++n)
      placeOrigin(role.groups[n], division.places[n]);
    if (division.places.size() == role.groups.size()) return;
    const BlockGroup& first = role.groups[division.places.size()];
    addRest(division.rest, nullptr, first.first, role.first + role.count - first.first);
  }

  void placeOrigin(const BlockGroup& group, const Tile& place) {
    if (group.count == 1) {
      tiles_.push_back(tile(MapTile::Kind::Block, place, &group, group.first, 1, group.bytes));
      return;
    }
    const Tile inside = inset(place, 1, kOriginHeader, 2, 2);
    const auto largest = static_cast<double>(tree_.sizes[group.first]);
    if (!roomy(place) ||
        largest / static_cast<double>(group.bytes) * areaOf(inside) < kLeastBlock) {
      tiles_.push_back(
          tile(MapTile::Kind::Blocks, place, &group, group.first, group.count, group.bytes));
      return;
    }
    tiles_.push_back(
        tile(MapTile::Kind::Origin, place, &group, group.first, group.count, group.bytes));
    tiles_.back().header = {place.x, place.y, place.width, kOriginHeader};
    std::vector<double> sizes;
    for (std::size_t n = 0; n < group.count; ++n)
      sizes.push_back(static_cast<double>(tree_.sizes[group.first + n]));
    const Division division = divide(sizes, inside, kLeastBlock);
    for (std::size_t n = 0; n < division.places.size(); ++n) {
      const std::size_t at = group.first + n;
      tiles_.push_back(
          tile(MapTile::Kind::Block, division.places[n], &group, at, 1, tree_.sizes[at]));
    }
    const std::size_t shown = division.places.size();
    if (shown < group.count)
      addRest(division.rest, &group, group.first + shown, group.count - shown);
  }

  void addRest(const Tile& place, const BlockGroup* group, std::size_t first, std::size_t count) {
    const auto from = tree_.sizes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto bytes =
        std::accumulate(from, from + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
    tiles_.push_back(tile(MapTile::Kind::Rest, place, group, first, count, bytes));
  }

  [[nodiscard]] MapTile tile(MapTile::Kind kind, const Tile& place, const BlockGroup* group,
                             std::size_t first, std::size_t count, std::uint64_t bytes) const {
    return {kind, place, {}, role_, group, first, count, bytes};
  }

  const BlockTree& tree_;
  prof::MemoryRole role_ = prof::MemoryRole::Other;
  std::vector<MapTile> tiles_;
};

}  // namespace

BlockTree groupBlocks(std::span<const analyzer::LiveBlock> live) {
  std::array<std::vector<std::uint32_t>, analyzer::kRoleCount> byRole;
  for (std::size_t n = 0; n < live.size(); ++n) {
    byRole[static_cast<std::size_t>(live[n].tensor.role)].push_back(static_cast<std::uint32_t>(n));
  }
  BlockTree tree;
  for (const auto& blocks : byRole) {
    if (!blocks.empty()) addRole(live, blocks, tree);
  }
  std::stable_sort(tree.roles.begin(), tree.roles.end(),
                   [](const RoleGroup& a, const RoleGroup& b) { return a.bytes > b.bytes; });
  return tree;
}

std::vector<MapTile> layOutBlocks(const BlockTree& tree, const Tile& into) {
  return Layout(tree).run(into);
}

}  // namespace lacuna::gui
