// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "lacuna/analyzer/store.h"
#include "links/link_builders.h"

namespace lacuna::analyzer {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdU;
}

struct BlockKey {
  std::uint64_t address;
  std::uint32_t process, device;
  std::uint8_t kind;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};
struct FlowKey {
  std::uint64_t id;
  std::uint32_t name, category;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};
struct Hash {
  std::size_t operator()(const BlockKey& key) const {
    return mix(key.address,
               (std::uint64_t{key.process} << 32) ^ (std::uint64_t{key.device} << 8) ^ key.kind);
  }
  std::size_t operator()(const FlowKey& key) const {
    return mix(key.id, (std::uint64_t{key.name} << 32) | key.category);
  }
};

enum class BlockKind : std::uint8_t { Block, External, Segment };

BlockKind kindOf(prof::MemoryAction action) {
  using prof::MemoryAction;
  if (action == MemoryAction::ExternalAllocate || action == MemoryAction::ExternalFree)
    return BlockKind::External;
  return action == MemoryAction::Reserve || action == MemoryAction::Release ? BlockKind::Segment
                                                                            : BlockKind::Block;
}

bool takes(prof::MemoryAction action) {
  using prof::MemoryAction;
  return action == MemoryAction::Allocate || action == MemoryAction::ExternalAllocate ||
         action == MemoryAction::Reserve;
}

}  // namespace

std::vector<std::uint32_t> buildAllocationLinks(const Store& store, const OwnerTree& owners) {
  using A = prof::Allocation;
  std::vector<std::uint32_t> partner;
  if (store.rows<A>() >= kNoLink) return partner;
  partner.assign(store.rows<A>(), kNoLink);
  std::unordered_map<BlockKey, std::uint32_t, Hash> alive;
  (void)store.scan<&A::thread, &A::device, &A::action, &A::address>(
      {}, [&](std::uint64_t first, auto threads, auto devices, auto actions, auto addresses) {
        for (std::size_t i = 0; i < threads.size(); ++i) {
          const auto row = static_cast<std::uint32_t>(first + i);
          const BlockKey key{addresses[i], owners.processOf(threads[i]).value, devices[i].value,
                             static_cast<std::uint8_t>(kindOf(actions[i]))};
          if (takes(actions[i])) {
            alive[key] = row;
          } else if (const auto found = alive.find(key); found != alive.end()) {
            partner[row] = found->second;
            partner[found->second] = row;
            alive.erase(found);
          }
        }
      });
  return partner;
}

FlowLinks buildFlowLinks(const Store& store) {
  using F = prof::Flow;
  FlowLinks links;
  if (store.rows<F>() >= kNoLink) return links;
  links.next.assign(store.rows<F>(), kNoLink);
  links.previous.assign(store.rows<F>(), kNoLink);
  std::unordered_map<FlowKey, std::uint32_t, Hash> open;
  (void)store.scan<&F::id, &F::name, &F::category, &F::phase>(
      {}, [&](std::uint64_t first, auto ids, auto names, auto categories, auto phases) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto row = static_cast<std::uint32_t>(first + i);
          const FlowKey key{ids[i], names[i].value, categories[i].value};
          const auto found = open.find(key);
          if (found != open.end() && phases[i] != prof::FlowPhase::Begin) {
            links.next[found->second] = row;
            links.previous[row] = found->second;
          }
          if (phases[i] != prof::FlowPhase::End) {
            open.insert_or_assign(key, row);
          } else if (found != open.end()) {
            open.erase(found);
          }
        }
      });
  return links;
}

}  // namespace lacuna::analyzer
