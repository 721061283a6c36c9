// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "links/graph_nodes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::GraphNode;
using prof::ProcessId;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

/// A copy of a copy of a node is rare; more are a loop in a damaged trace.
constexpr int kMostCopies = 16;

/// Calls that make nodes with device work: captured ones, and those that add a node.
bool handsOverWork(std::string_view call) {
  static constexpr std::array<std::string_view, 7> kParts{
      "aunchKernel",   "aunchCooperative", "Memcpy",       "Memset",
      "AddKernelNode", "AddMemcpyNode",    "AddMemsetNode"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return call.find(part) != std::string_view::npos; });
}

}  // namespace

GraphNodes::GraphNodes(const Store& store) {
  if (store.rows<GraphNode>() == 0) return;
  const OwnerTree& owners = store.links().owners();
  (void)store.scan<&GraphNode::timeNs, &GraphNode::thread, &GraphNode::id, &GraphNode::original>(
      {}, [&](std::uint64_t, auto time, auto thread, auto id, auto original) {
        for (std::size_t i = 0; i < id.size(); ++i) {
          // A node may have a row for itself and one for what it is a copy of.
          Made& made = made_[{owners.processOf(thread[i]), id[i]}];
          if (made.original == 0) made = {.origin = {thread[i], time[i]}, .original = original[i]};
        }
      });
}

const GraphNodes::Made* GraphNodes::rootOf(const Key& key) const {
  auto found = made_.find(key);
  for (int i = 0; found != made_.end() && found->second.original != 0 && i < kMostCopies; ++i) {
    const auto next = made_.find({key.first, found->second.original});
    if (next == made_.end()) return nullptr;
    found = next;
  }
  return found == made_.end() || found->second.original != 0 ? nullptr : &found->second;
}

const GraphNodes::Origin* GraphNodes::originOf(ProcessId process, std::uint64_t node) const {
  const Made* root = rootOf({process, node});
  return root == nullptr ? nullptr : &root->origin;
}

prof::Status GraphNodes::findCalls(const Store& store) {
  if (empty()) return {};
  using prof::ApiCall;
  std::unordered_map<ThreadId, std::vector<Made*>> byThread;
  for (auto& [key, made] : made_) byThread[made.origin.thread].push_back(&made);
  const auto atNs = [](const Made* made) { return made->origin.atNs; };
  for (auto& [thread, all] : byThread) std::ranges::sort(all, {}, atNs);
  std::unordered_map<StringId, bool> works;
  const auto status =
      store.scan<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::name>(
          {}, [&](std::uint64_t first, auto start, auto dur, auto thread, auto name) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              const auto all = byThread.find(thread[i]);
              if (all == byThread.end()) continue;
              auto at = std::ranges::lower_bound(all->second, start[i], {}, atNs);
              if (at == all->second.end() || atNs(*at) > start[i] + dur[i]) continue;
              const auto [known, isNew] = works.try_emplace(name[i], false);
              if (isNew) known->second = handsOverWork(store.text(name[i]));
              for (; at != all->second.end() && atNs(*at) <= start[i] + dur[i]; ++at) {
                (*at)->call = first + i;
                (*at)->works = known->second;
              }
            }
          });
  if (status) groupCopies();
  return status;
}

void GraphNodes::groupCopies() {
  for (const auto& [key, made] : made_) {
    if (made.original == 0 || made.call == kNoCall) continue;
    const Made* root = rootOf(key);
    if (root != nullptr && root->works) copies_[{key.first, made.call}].push_back(key.second);
  }
}

const std::vector<std::uint64_t>& GraphNodes::copiedWith(ProcessId process,
                                                         std::uint64_t node) const {
  static const std::vector<std::uint64_t> kNone;
  const auto made = made_.find({process, node});
  if (made == made_.end() || made->second.original == 0) return kNone;
  const auto copies = copies_.find({process, made->second.call});
  return copies == copies_.end() ? kNone : copies->second;
}

}  // namespace lacuna::analyzer
