// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "links/link_builders.h"
#include "store/lcn_writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::FlowPhase, prof::MemoryAction, prof::ProcessId, prof::ThreadId,
    prof::TimeNs;
using Links32 = std::vector<std::uint32_t>;

/// Threads 1 and 2 are of process 1, thread 3 of process 2.
class PairLinksTest : public testing::Test {
 protected:
  void processes() {
    for (std::uint32_t i = 1; i <= 3; ++i) {
      if (i < 3) trace_.append(prof::Process{.id = ProcessId(i)});
      trace_.append(prof::Thread{.id = ThreadId(i), .process = ProcessId(i == 3 ? 2 : 1)});
    }
  }
  void memory(MemoryAction action, std::uint64_t address, std::uint32_t thread = 1,
              std::uint32_t device = 1) {
    trace_.append(prof::Allocation{.timeNs = now_++,
                                   .thread = ThreadId(thread),
                                   .device = DeviceId(device),
                                   .action = action,
                                   .address = address,
                                   .bytes = 8});
  }
  void flow(std::uint64_t id, FlowPhase phase, std::string_view name = "f",
            std::string_view category = "c") {
    trace_.append(prof::Flow{.timeNs = now_++,
                             .id = id,
                             .phase = phase,
                             .name = trace_.intern(name),
                             .category = trace_.intern(category)});
  }
  Links32 allocations() {
    processes();
    store_ = trace_.build();
    return buildAllocationLinks(*store_, OwnerTree::read(*store_));
  }
  /// The same store in blocks of few rows.
  std::shared_ptr<const Store> inBlocks() const {
    const test::TempDir folder;
    LcnWriteOptions options;
    options.blockRows = 32;
    options.zstdLevel = 1;
    EXPECT_TRUE(writeLcn(*store_, folder / "t.lcn", options));
    return *Store::open(folder / "t.lcn");
  }

  StoreBuilder trace_;
  TimeNs now_ = 0;
  std::shared_ptr<const Store> store_;
};

TEST_F(PairLinksTest, AFreeIsOfTheSameProcessDeviceAndKind) {
  using enum MemoryAction;
  memory(Allocate, 0x10);          // 0
  memory(Free, 0x10, 3);           // 1: of another process
  memory(Free, 0x10, 1, 2);        // 2: on another device
  memory(Release, 0x10);           // 3: a segment
  memory(ExternalFree, 0x10);      // 4: of another owner
  memory(Free, 0x11);              // 5: at another address
  memory(Free, 0x10, 2);           // 6: by another thread of the process
  memory(ExternalAllocate, 0x10);  // 7
  memory(Reserve, 0x10);           // 8
  memory(ExternalFree, 0x10);      // 9
  memory(Release, 0x10);           // 10
  const std::uint32_t no = kNoLink;
  EXPECT_EQ(allocations(), (Links32{6, no, no, no, no, no, 0, 9, 10, 7, 8}));
}

TEST_F(PairLinksTest, AnAddressIsPairedAnewEachTimeItIsHandedOut) {
  using enum MemoryAction;
  memory(Free, 0);      // 0: from before the recording
  memory(Allocate, 0);  // 1
  memory(Free, 0);      // 2
  memory(Free, 0);      // 3: twice
  memory(Allocate, 0);  // 4: its free was lost
  memory(Allocate, 0);  // 5
  memory(Free, 0);      // 6
  memory(Allocate, 0);  // 7: still alive
  const std::uint32_t no = kNoLink;
  EXPECT_EQ(allocations(), (Links32{no, 2, 1, no, no, 6, 5, no}));
}

TEST_F(PairLinksTest, WithoutRowsThereAreNoLinks) {
  EXPECT_TRUE(allocations().empty());
  const FlowLinks flows = buildFlowLinks(*store_);
  EXPECT_TRUE(flows.next.empty() && flows.previous.empty());
}

/// By the definition: the partner of what is given back is the last row about that memory, if that
/// took it.
Links32 slowAllocations(const Store& store) {
  Links32 out(store.rows<prof::Allocation>(), kNoLink);
  const auto process = [](ThreadId thread) { return thread.value == 3 ? 2 : 1; };
  const auto kind = [](MemoryAction action) {
    using enum MemoryAction;
    return action == Allocate || action == Free     ? 'b'
           : action == Reserve || action == Release ? 's'
                                                    : 'x';
  };
  const auto takes = [](MemoryAction action) {
    using enum MemoryAction;
    return action == Allocate || action == Reserve || action == ExternalAllocate;
  };
  for (std::uint32_t row = 0; row < out.size(); ++row) {
    const auto one = store.row<prof::Allocation>(row);
    if (takes(one.action)) continue;
    for (std::uint32_t before = row; before-- > 0;) {
      const auto other = store.row<prof::Allocation>(before);
      if (other.address != one.address || other.device != one.device ||
          kind(other.action) != kind(one.action) || process(other.thread) != process(one.thread))
        continue;
      if (takes(other.action)) {
        out[row] = before;
        out[before] = row;
      }
      break;
    }
  }
  return out;
}

TEST_F(PairLinksTest, AnyHistoryOfMemoryIsPairedAsDefined) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i)
    memory(static_cast<MemoryAction>(random() % 6), random() % 5, 1 + random() % 3,
           1 + random() % 2);
  const Links32 links = allocations();
  EXPECT_EQ(links, slowAllocations(*store_));
  const auto file = inBlocks();
  EXPECT_EQ(buildAllocationLinks(*file, OwnerTree::read(*file)), links);
}

TEST_F(PairLinksTest, FlowsAreKeptApartByIdNameAndCategory) {
  using enum FlowPhase;
  flow(1, Begin);            // 0
  flow(2, Begin);            // 1
  flow(1, Begin, "g");       // 2
  flow(1, Begin, "f", "d");  // 3
  flow(1, End, "f", "d");    // 4
  flow(1, End, "g");         // 5
  flow(2, End);              // 6
  flow(1, End);              // 7
  flow(1, End);              // 8: nothing is open
  store_ = trace_.build();
  const FlowLinks links = buildFlowLinks(*store_);
  const std::uint32_t no = kNoLink;
  EXPECT_EQ(links.next, (Links32{7, 6, 5, 4, no, no, no, no, no}));
  EXPECT_EQ(links.previous, (Links32{no, no, no, no, 3, 2, 1, 0, no}));
}

/// By the definition: a point follows the last one of its flow, unless it begins anew or that one
/// was an end.
TEST_F(PairLinksTest, AnyPointsAreChainedAsDefined) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i)
    flow(random() % 4, static_cast<FlowPhase>(random() % 3), random() % 2 == 0 ? "f" : "g",
         random() % 2 == 0 ? "c" : "");
  store_ = trace_.build();
  const FlowLinks links = buildFlowLinks(*store_);
  Links32 next(500, kNoLink), previous(500, kNoLink);
  for (std::uint32_t row = 0; row < 500; ++row) {
    const auto one = store_->row<prof::Flow>(row);
    for (std::uint32_t before = row; before-- > 0;) {
      const auto other = store_->row<prof::Flow>(before);
      if (other.id != one.id || other.name != one.name || other.category != one.category) continue;
      if (one.phase != FlowPhase::Begin && other.phase != FlowPhase::End) {
        next[before] = row;
        previous[row] = before;
      }
      break;
    }
  }
  EXPECT_EQ(links.next, next);
  EXPECT_EQ(links.previous, previous);
  const FlowLinks again = buildFlowLinks(*inBlocks());
  EXPECT_TRUE(again.next == links.next && again.previous == links.previous);
}

}  // namespace
}  // namespace lacuna::analyzer
