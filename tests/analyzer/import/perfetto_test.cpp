// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <bit>
#include <sstream>

#include "formats/proto_wire.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/proto_message.h"
#include "support/random_store.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::Contains;
using testing::HasSubstr;
using Message = test::ProtoMessage;

std::string traceOf(const std::vector<Message>& packets) {
  std::string out;
  for (const Message& packet : packets) proto::putBytes(out, 1, packet.bytes);
  return out;
}

Message threadTrack(std::uint64_t uuid, std::uint64_t pid, std::uint64_t tid,
                    std::string_view name) {
  return Message().set(
      60, Message().set(1, uuid).set(4, Message().set(1, pid).set(2, tid).set(5, name)));
}
constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
Message at(std::uint64_t ts, const Message& event, std::uint64_t sequence = 1) {
  return Message().set(8, ts).set(10, sequence).set(11, event);
}
Message slice(std::uint64_t track, std::string_view name) {
  return Message().set(9, kBegin).set(11, track).set(23, name);
}
Message end(std::uint64_t track) {
  return Message().set(9, kEnd).set(11, track);
}

std::shared_ptr<const Store> open(std::string_view bytes) {
  const test::TempFile file(".pftrace", bytes);
  auto store = Store::open(file.path());
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *store : nullptr;
}
std::string errorOf(std::string_view bytes) {
  const test::TempFile file(".pftrace", bytes);
  const auto store = Store::open(file.path());
  return store.ok() ? "" : store.error().message;
}

TEST(PerfettoImport, SlicesNestOnTheirThreads) {
  const auto store = open(traceOf(
      {at(100, slice(5, "step")), at(110, slice(5, "forward")), at(150, end(5)),
       at(160, Message().set(9, kInstant).set(11, 5).set(23, "here")), at(200, end(5)),
       at(210, slice(5, "open")), threadTrack(5, 10, 11, "main"),
       Message().set(60, Message().set(1, 4).set(3, Message().set(1, 10).set(6, "python")))}));
  ASSERT_EQ(store->rows<Range>(), 3U);
  EXPECT_EQ(store->text(store->row<Range>(0).name), "step");
  EXPECT_EQ(store->row<Range>(0).durNs, 100);
  EXPECT_EQ(store->row<Range>(1).depth, 1);
  EXPECT_EQ(store->row<Range>(2).flags, kUnfinished);
  EXPECT_EQ(store->rows<Mark>(), 1U);
  const auto thread = store->row<Thread>(0);
  EXPECT_EQ(thread.osTid, 11U);
  EXPECT_EQ(store->text(thread.name), "main");
  EXPECT_EQ(store->row<Process>(thread.process.value - 1).osPid, 10U);
}

TEST(PerfettoImport, ProcessesAreNamedWhereEventsLieOnTheirThreadsOnly) {
  const Message process =
      Message().set(1, 10).set(2, "python").set(2, "train.py").set(6, "trainer");
  const Message track = Message().set(60, Message().set(1, 4).set(3, process));
  const auto store =
      open(traceOf({track, threadTrack(5, 10, 11, "main"), at(1, slice(5, "a")), at(2, end(5))}));
  ASSERT_EQ(store->rows<Process>(), 1U);
  EXPECT_EQ(store->text(store->row<Process>(0).name), "trainer");
  EXPECT_EQ(store->text(store->row<Process>(0).commandLine), "python train.py");
}

TEST(PerfettoImport, DescriptionsOfTheOlderFormNameProcessesAndThreads) {
  const auto store = open(
      traceOf({Message().set(10, 1).set(43, Message().set(1, 10).set(6, "Renderer")),
               Message().set(10, 1).set(44, Message().set(1, 10).set(2, 11).set(5, "Compositor")),
               at(1, Message().set(9, kBegin).set(23, "a")), at(2, Message().set(9, kEnd))}));
  ASSERT_EQ(store->rows<Range>(), 1U);
  ASSERT_EQ(store->rows<Process>(), 1U);
  EXPECT_EQ(store->row<Process>(0).osPid, 10U);
  EXPECT_EQ(store->text(store->row<Process>(0).name), "Renderer");
  EXPECT_EQ(store->row<Thread>(0).osTid, 11U);
  EXPECT_EQ(store->text(store->row<Thread>(0).name), "Compositor");
  EXPECT_TRUE(store->warnings().empty());
}

TEST(PerfettoImport, TheListOfProcessesNamesWhatTheTracksLeaveOpen) {
  const auto process = [](std::uint64_t pid, std::string_view program) {
    return Message().set(1, pid).set(3, program).set(3, "--fast");
  };
  const auto thread = [](std::uint64_t tid, std::uint64_t pid, std::string_view name) {
    return Message().set(1, tid).set(2, name).set(3, pid);
  };
  const Message tree = Message()
                           .set(1, process(10, "/bin/train"))
                           .set(1, process(20, "/bin/other"))
                           .set(2, thread(11, 10, "loader"))
                           .set(2, thread(12, 10, "listed"));
  const auto store = open(
      traceOf({Message().set(2, tree), threadTrack(5, 10, 11, ""), threadTrack(6, 10, 12, "own"),
               at(1, slice(5, "a")), at(2, end(5)), at(3, slice(6, "b")), at(4, end(6))}));
  ASSERT_EQ(store->rows<Process>(), 1U) << "only those in which something happens";
  EXPECT_EQ(store->text(store->row<Process>(0).name), "/bin/train");
  EXPECT_EQ(store->text(store->row<Process>(0).commandLine), "/bin/train --fast");
  ASSERT_EQ(store->rows<Thread>(), 2U);
  EXPECT_EQ(store->text(store->row<Thread>(0).name), "loader");
  EXPECT_EQ(store->text(store->row<Thread>(1).name), "own");
  EXPECT_TRUE(store->warnings().empty());
}

TEST(PerfettoImport, InternedTextsBelongToTheirSequenceUntilItIsCleared) {
  const auto interned = [](std::string_view name) {
    return Message()
        .set(1, Message().set(1, 1).set(2, "cat"))
        .set(2, Message().set(1, 7).set(2, name));
  };
  const auto begin = [](std::uint64_t sequence, std::uint64_t ts, std::uint64_t flags) {
    return Message()
        .set(8, ts)
        .set(10, sequence)
        .set(13, flags)
        .set(11, Message().set(9, kBegin).set(3, 1).set(10, 7).set(11, 5));
  };
  const auto store = open(traceOf({
      threadTrack(5, 1, 1, "t"),
      Message(begin(1, 10, 1)).set(12, interned("one")),
      Message(begin(2, 20, 1)).set(12, interned("two")),
      begin(1, 30, 2),
      Message(begin(1, 40, 1)).set(12, interned("other")),
      Message(begin(2, 50, 2)).set(42, 1),
      begin(2, 60, 2),
  }));
  std::vector<std::string> names;
  for (const StringId name : store->column<&Range::name>()) names.emplace_back(store->text(name));
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two", "one", "other"}));
  EXPECT_EQ(store->text(store->row<Range>(0).category), "cat");
  EXPECT_THAT(store->warnings(), Contains(HasSubstr("2 packets were left out")));
  EXPECT_EQ(store->row<Drop>(0).count, 2U);
}

TEST(PerfettoImport, CountersHaveUnitsAndMayCountDifferences) {
  const auto value = [](std::uint64_t ts, std::int64_t v) {
    return at(ts, Message().set(9, kCounter).set(11, 8).set(30, static_cast<std::uint64_t>(v)));
  };
  const auto store = open(traceOf(
      {Message().set(
           60,
           Message().set(1, 8).set(2, "memory").set(8, Message().set(3, 3).set(4, 1024).set(5, 1))),
       value(1, 10), value(2, 5), value(3, -3)}));
  ASSERT_EQ(store->rows<CounterSample>(), 3U);
  EXPECT_EQ(store->row<CounterSample>(1).value, 15 * 1024);
  EXPECT_EQ(store->row<CounterSample>(2).value, 12 * 1024);
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).name), "memory");
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).unit), "bytes");
}

TEST(PerfettoImport, FlowsJoinEventsInTheOrderOfTime) {
  const auto point = [](std::uint64_t ts, std::uint32_t field) {
    return at(ts, Message().set(9, kInstant).set(11, 5).fixed(field, 77));
  };
  const auto store =
      open(traceOf({point(30, 48), point(10, 47), point(20, 47), threadTrack(5, 1, 1, "t")}));
  ASSERT_EQ(store->rows<Flow>(), 3U);
  EXPECT_EQ(store->row<Flow>(0).phase, FlowPhase::Begin);
  EXPECT_EQ(store->row<Flow>(1).phase, FlowPhase::Step);
  EXPECT_EQ(store->row<Flow>(2).phase, FlowPhase::End);
  EXPECT_EQ(store->row<Flow>(2).id, 77U);
}

TEST(PerfettoImport, AnnotationsBecomeArguments) {
  const Message nested = Message().set(1, 1).set(2, "k").set(
      3, Message().set(1, 2).set(4, Message().set(5, 3)).set(4, Message().set(8, "x")));
  const auto store = open(traceOf({at(1, slice(5, "op")
                                             .set(4, Message().set(10, "size").set(4, 42))
                                             .set(4, Message().set(10, "shape").set(6, "[2]"))
                                             .set(4, Message().set(10, "all").set(8, nested))),
                                   at(2, end(5)), threadTrack(5, 1, 1, "t")}));
  const Args args(*store);
  const auto set = store->row<Range>(0).args;
  EXPECT_EQ(args.integer(set, "size"), 42);
  EXPECT_EQ(args.text(set, "shape"), "[2]");
  EXPECT_EQ(args.text(set, "all"), R"({"k": [3, "x"]})");
}

TEST(PerfettoImport, LargeUnsignedAnnotationsAreNotNegative) {
  const std::uint64_t large = std::uint64_t{1} << 63;
  const auto store = open(traceOf({at(1, slice(5, "op")
                                             .set(4, Message().set(10, "hash").set(3, large))
                                             .set(4, Message().set(10, "pointer").set(7, large + 1))
                                             .set(4, Message().set(10, "signed").set(4, large))),
                                   at(2, end(5)), threadTrack(5, 1, 1, "t")}));
  const Args args(*store);
  const auto set = store->row<Range>(0).args;
  EXPECT_EQ(args.text(set, "hash"), "9223372036854775808");
  EXPECT_EQ(args.text(set, "pointer"), "9223372036854775809");
  EXPECT_EQ(args.integer(set, "signed"), INT64_MIN);
}

TEST(PerfettoImport, AnnotationsThatCannotBeReadAreCounted) {
  const auto store = open(traceOf({at(1, slice(5, "op")
                                             .set(4, Message().set(1, 99).set(4, 7))
                                             .set(4, Message().set(10, "kept").set(4, 8))),
                                   at(2, end(5)), threadTrack(5, 1, 1, "t")}));
  EXPECT_EQ(Args(*store).integer(store->row<Range>(0).args, "kept"), 8);
  EXPECT_THAT(store->warnings(),
              testing::ElementsAre(HasSubstr("1 annotations have names or values")));
}

TEST(PerfettoImport, ClocksAreConvertedThroughSnapshots) {
  const auto clock = [](std::uint64_t id, std::uint64_t ts) {
    return Message().set(1, id).set(2, ts);
  };
  const Message snapshot = Message()
                               .set(1, clock(6, 5000))
                               .set(1, clock(3, 4000))
                               .set(1, clock(1, 1700000000000000000))
                               .set(1, clock(64, 2).set(3, 1).set(4, 1000));
  const auto local = [](std::uint64_t ts, const Message& event) {
    return Message().set(8, ts).set(58, 64).set(10, 1).set(11, event);
  };
  const auto store = open(
      traceOf({Message().set(10, 1).set(6, snapshot), local(1, slice(5, "a")), local(3, end(5)),
               at(9000, slice(5, "b")), at(9001, end(5)), threadTrack(5, 1, 1, "t")}));
  EXPECT_EQ(store->row<Range>(0).startNs, 5000)
      << "1 us after the snapshot, on the monotonic clock";
  EXPECT_EQ(store->row<Range>(0).durNs, 3000);
  EXPECT_EQ(store->row<Range>(1).startNs, 8000);
  EXPECT_EQ(store->row<Clock>(0).realtimeNs - store->row<Clock>(0).timeNs,
            1700000000000000000 - 4000);
}

TEST(PerfettoImport, AClockOfASequenceOutlivesItsState) {
  const Message snapshot = Message()
                               .set(1, Message().set(1, 6).set(2, 5000))
                               .set(1, Message().set(1, 64).set(2, 2).set(4, 1000));
  const auto local = [](std::uint64_t flags, std::uint64_t ts, const Message& event) {
    return Message().set(8, ts).set(58, 64).set(10, 1).set(13, flags).set(11, event);
  };
  const auto store =
      open(traceOf({threadTrack(5, 1, 1, "t"), Message().set(10, 1).set(13, 1).set(6, snapshot),
                    local(2, 3, slice(5, "a")), local(1, 4, end(5))}));
  EXPECT_EQ(store->row<Range>(0).startNs, 6000);
  EXPECT_EQ(store->row<Range>(0).durNs, 1000);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(PerfettoImport, TimesOfTheOlderFormAreMonotonic) {
  const Message snapshot = Message()
                               .set(1, Message().set(1, 6).set(2, 50'000))
                               .set(1, Message().set(1, 3).set(2, 20'000));
  const auto store = open(
      traceOf({Message().set(10, 1).set(6, snapshot),
               Message().set(10, 1).set(44, Message().set(1, 10).set(2, 11).set(6, 30)),
               Message().set(10, 1).set(11, Message().set(1, 4).set(9, kBegin).set(23, "a")),
               Message().set(10, 1).set(11, Message().set(1, 2).set(9, kEnd)),
               Message().set(10, 1).set(11, Message().set(16, 70).set(9, kInstant).set(23, "b")),
               at(90'000, Message().set(9, kInstant).set(23, "c"))}));
  EXPECT_EQ(store->row<Range>(0).startNs, 34'000);
  EXPECT_EQ(store->row<Range>(0).durNs, 2000);
  EXPECT_EQ(store->row<Mark>(0).timeNs, 60'000) << "of BOOTTIME, on the monotonic clock";
  EXPECT_EQ(store->row<Mark>(1).timeNs, 70'000);
}

TEST(PerfettoImport, ASequenceWhoseStateWasLostBeforeItsFirstPacketIsLeftOutUntilItStartsAnew) {
  const auto packet = [](std::uint64_t ts, std::uint64_t flags) {
    return at(ts, Message().set(9, kInstant).set(11, 5).set(10, 7)).set(13, flags);
  };
  const Message names = Message().set(2, Message().set(1, 7).set(2, "known"));
  const auto store = open(traceOf({threadTrack(5, 1, 1, "t"), packet(1, 2).set(42, 1), packet(2, 2),
                                   packet(3, 1).set(12, names), packet(4, 2)}));
  ASSERT_EQ(store->rows<Mark>(), 2U);
  EXPECT_EQ(store->text(store->row<Mark>(0).name), "known");
  EXPECT_THAT(store->warnings(), testing::ElementsAre(HasSubstr("2 packets were left out")));
}

TEST(PerfettoImport, EveryPacketWithATimeMovesItsIncrementalClockOn) {
  const Message snapshot = Message()
                               .set(1, Message().set(1, 6).set(2, 1'000'000))
                               .set(1, Message().set(1, 64).set(2, 1'000'000).set(3, 1));
  const auto local = [](std::uint64_t delta, std::uint32_t field, const Message& payload) {
    return Message().set(8, delta).set(58, 64).set(10, 1).set(field, payload);
  };
  const Message descriptor = Message().set(1, 77).set(2, "custom");
  const auto store = open(
      traceOf({threadTrack(5, 1, 1, "t"),
               // The snapshot's own time is none of the clock that it sets.
               Message().set(8, 123).set(58, 6).set(10, 1).set(6, snapshot),
               local(1000, 11, slice(5, "a")), local(1000, 11, end(5)),
               local(500'000, 60, descriptor), Message().set(10, 1).set(60, descriptor),
               local(0, 11, slice(77, "b")), local(1000, 11, end(77)), local(0, 9999, Message()),
               local(1000, 11, slice(5, "c")), local(1000, 11, end(5))}));
  EXPECT_EQ(store->row<Range>(0).startNs, 1'001'000);
  EXPECT_EQ(store->row<Range>(1).startNs, 1'502'000);
  EXPECT_EQ(store->row<Range>(2).startNs, 1'504'000);
}

TEST(PerfettoImport, OnlyEventsNeedAClockThatIsKnown) {
  const auto in = [](std::uint64_t clock, std::uint32_t field, const Message& payload) {
    return Message().set(8, 7).set(58, clock).set(10, 1).set(field, payload);
  };
  const Message descriptor = Message().set(1, 77).set(2, "custom");
  const auto plain = at(9, Message().set(9, kInstant).set(11, 5).set(23, "here"));
  EXPECT_TRUE(open(traceOf({threadTrack(5, 1, 1, "t"), in(99, 60, descriptor), plain}))
                  ->warnings()
                  .empty());
  EXPECT_THAT(
      open(traceOf({threadTrack(5, 1, 1, "t"), in(99, 11, slice(5, "a")), plain}))->warnings(),
      Contains(HasSubstr("1 packets have a clock")));
}

TEST(PerfettoImport, ArgumentsOfOneNameLieTogether) {
  const auto annotated = [](std::uint64_t ts, std::uint64_t a, std::uint64_t b) {
    return at(ts, slice(5, "a")
                      .set(4, Message().set(10, "a").set(4, a))
                      .set(4, Message().set(10, "b").set(4, b)));
  };
  const auto store =
      open(traceOf({threadTrack(5, 1, 1, "t"), annotated(1, 10, 20), annotated(2, 11, 21),
                    annotated(3, 12, 22), at(4, end(5)), at(5, end(5)), at(6, end(5))}));
  const auto keys = store->column<&Arg::key>();
  EXPECT_EQ(std::vector(keys.begin(), keys.end()),
            (std::vector{keys[0], keys[0], keys[0], keys[5], keys[5], keys[5]}));
  const Args args(*store);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(args.integer(store->row<Range>(i).args, "a"), static_cast<std::int64_t>(10 + i));
    EXPECT_EQ(args.integer(store->row<Range>(i).args, "b"), static_cast<std::int64_t>(20 + i));
  }
}

/// An event of the older form: a phase of Chrome's, with an id in one of the three scopes.
Message legacy(std::uint64_t track, std::string_view name, char phase, std::uint32_t scope = 0,
               std::uint64_t id = 0) {
  Message event;
  event.set(2, static_cast<std::uint64_t>(phase));
  if (scope != 0) event.set(scope, id);
  return Message().set(11, track).set(23, name).set(22, "net").set(6, event);
}

TEST(PerfettoImport, LegacyPhasesThatAreNotReadAreCounted) {
  EXPECT_THAT(open(traceOf({threadTrack(5, 1, 1, "t"), at(1, slice(5, "a")),
                            at(1, legacy(5, "object", 'O', 10, 9)), at(2, end(5))}))
                  ->warnings(),
              Contains(HasSubstr("legacy events that lacuna does not read: O (1)")));
}

TEST(PerfettoImport, LegacyAsyncEventsPairByTheirIdsAndScopes) {
  constexpr std::uint32_t kUnscoped = 6, kLocal = 10, kGlobal = 11;
  const auto store = open(traceOf(
      {threadTrack(5, 1, 1, "a"), threadTrack(6, 1, 2, "b"), threadTrack(7, 2, 3, "other process"),
       at(10, legacy(5, "one", 'b', kLocal, 9)), at(11, legacy(7, "two", 'b', kLocal, 9)),
       at(12, legacy(5, "three", 'b', kGlobal, 9)), at(13, legacy(5, "four", 'S', kUnscoped, 9)),
       at(14, legacy(5, "five", 'S', kUnscoped, 9)), at(15, legacy(5, "step", 'n', kLocal, 9)),
       at(20, legacy(7, "two", 'e', kLocal, 9)), at(30, legacy(6, "one", 'e', kLocal, 9)),
       at(40, legacy(7, "three", 'e', kGlobal, 9)), at(50, legacy(5, "four", 'F', kUnscoped, 9)),
       at(60, legacy(5, "five", 'F', kUnscoped, 9)),
       at(70, legacy(5, "none", 'e', kUnscoped, 1))}));
  ASSERT_EQ(store->rows<Range>(), 5U);
  const TimeNs lengths[] = {20, 9, 28, 37, 46};
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto row = store->row<Range>(i);
    EXPECT_EQ(row.durNs, lengths[i]) << i;
    EXPECT_EQ(row.kind, RangeKind::StartEnd) << i;
    EXPECT_EQ(row.flags, 0) << i;
  }
  EXPECT_EQ(store->row<Range>(0).endThread, store->row<Thread>(1).id);
  EXPECT_FALSE(store->row<Range>(1).endThread);
  ASSERT_EQ(store->rows<Mark>(), 1U);
  EXPECT_EQ(store->text(store->row<Mark>(0).name), "step");
  EXPECT_THAT(store->warnings(), testing::ElementsAre(HasSubstr("1 ends of slices have no begin")));
}

TEST(PerfettoImport, LegacyFlowsAreFlows) {
  const auto store =
      open(traceOf({threadTrack(5, 1, 1, "t"), at(10, legacy(5, "send", 's', 6, 3)),
                    at(20, legacy(5, "send", 't', 6, 3)), at(30, legacy(5, "send", 'f', 6, 3)),
                    at(35, legacy(5, "other", 's', 6, 3))}));
  ASSERT_EQ(store->rows<Flow>(), 4U);
  const FlowPhase phases[] = {FlowPhase::Begin, FlowPhase::Step, FlowPhase::End, FlowPhase::Begin};
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(store->row<Flow>(i).phase, phases[i]) << i;
  EXPECT_EQ(store->text(store->row<Flow>(0).name), "send");
  EXPECT_TRUE(store->warnings().empty());
}

TEST(PerfettoImport, LegacyEventsLieOnTheThreadThatTheyAreWrittenFor) {
  const auto other = [](std::uint64_t type, const Message& event) {
    return Message().set(9, type).set(11, 5).set(23, "a").set(6, event);
  };
  const Message both = Message().set(18, 20).set(19, 21);
  const auto store =
      open(traceOf({threadTrack(5, 10, 11, "writer"), threadTrack(6, 20, 21, "worker"),
                    at(1, other(kBegin, both)), at(3, other(kEnd, both)),
                    at(4, other(kInstant, Message().set(19, 12)))}));
  const auto threadOf = [&](ThreadId id) { return store->row<Thread>(id.value - 1); };
  const auto range = store->row<Range>(0);
  EXPECT_EQ(range.durNs, 2);
  EXPECT_EQ(store->text(threadOf(range.thread).name), "worker");
  const auto mark = threadOf(store->row<Mark>(0).thread);
  EXPECT_EQ(mark.osTid, 12U);
  EXPECT_EQ(store->row<Process>(mark.process.value - 1).osPid, 10U);
}

TEST(PerfettoImport, LegacyEventsAreBoundIntoFlows) {
  const auto bound = [](std::uint64_t ts, std::uint64_t direction) {
    return at(
        ts, Message().set(9, kInstant).set(11, 5).set(6, Message().set(8, 77).set(13, direction)));
  };
  const auto store =
      open(traceOf({threadTrack(5, 1, 1, "t"), bound(10, 2), bound(20, 3), bound(30, 1),
                    at(40, Message().set(9, kInstant).set(11, 5).set(6, Message().set(8, 77)))}));
  ASSERT_EQ(store->rows<Flow>(), 3U);
  const FlowPhase phases[] = {FlowPhase::Begin, FlowPhase::Step, FlowPhase::End};
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(store->row<Flow>(i).phase, phases[i]) << i;
    EXPECT_EQ(store->row<Flow>(i).id, 77U) << i;
  }
}

TEST(PerfettoImport, AnnotationsOfAnEndJoinThoseOfItsBegin) {
  const auto note = [](std::string_view key, std::uint64_t value) {
    return Message().set(10, key).set(4, value);
  };
  const auto store = open(traceOf(
      {threadTrack(5, 1, 1, "t"),
       at(1, slice(5, "outer").set(4, note("a", 1)).set(4, note("b", 2))), at(2, slice(5, "inner")),
       at(3, end(5).set(4, note("c", 3))), at(4, end(5).set(4, note("b", 5)).set(4, note("c", 6))),
       at(5, end(5).set(4, note("c", 7)))}));
  const Args args(*store);
  const auto outer = store->row<Range>(0).args;
  EXPECT_EQ(args.integer(outer, "a"), 1);
  EXPECT_EQ(args.integer(outer, "b"), 5) << "the end's counts";
  EXPECT_EQ(args.integer(outer, "c"), 6);
  EXPECT_EQ(store->text(args.shape(outer)), "+a\n+b\n+c");
  EXPECT_EQ(args.integer(store->row<Range>(1).args, "c"), 3);
  EXPECT_EQ(store->rows<ArgSet>(), 2U) << "an end without a begin has none";
  EXPECT_EQ(store->rows<Arg>(), 4U);
}

TEST(PerfettoImport, BuiltInCountersAndRealNumbersHaveUnitsToo) {
  const auto track = [](std::uint64_t uuid, const Message& counter) {
    return Message().set(60, Message().set(1, uuid).set(8, counter));
  };
  const auto real = [](std::uint64_t on, double value) {
    return Message().set(9, kCounter).set(11, on).fixed(44, std::bit_cast<std::uint64_t>(value));
  };
  const auto store = open(traceOf(
      {track(7, Message().set(1, std::uint64_t{1}).set(4, std::uint64_t{1000})),
       track(8,
             Message().set(3, std::uint64_t{3}).set(4, std::uint64_t{2}).set(5, std::uint64_t{1})),
       at(1, real(7, 1.5)), at(2, real(8, 0.5)), at(3, real(8, 0.25))}));
  ASSERT_EQ(store->rows<CounterTrack>(), 2U);
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).name), "thread time");
  EXPECT_EQ(store->text(store->row<CounterTrack>(0).unit), "ns");
  EXPECT_EQ(store->text(store->row<CounterTrack>(1).unit), "bytes");
  EXPECT_EQ(store->row<CounterSample>(0).value, 1500);
  EXPECT_EQ(store->row<CounterSample>(1).value, 1);
  EXPECT_EQ(store->row<CounterSample>(2).value, 1.5) << "the second is what is added";
}

TEST(PerfettoImport, DictionariesAndListsInAnnotationsAreJson) {
  const auto entry = [](std::string_view key, std::uint32_t field, auto value) {
    return Message().set(10, key).set(field, value);
  };
  const Message dictionary = entry("d", 11, entry("k", 4, std::uint64_t{3}))
                                 .set(11, entry("s", 6, std::string_view("v \"w\"")));
  const Message list = entry("l", 12, Message().set(4, std::uint64_t{1}))
                           .set(12, Message().set(2, std::uint64_t{1}));
  const Message deep =
      entry("n", 11, entry("x", 12, Message().set(12, Message().set(6, std::string_view("y")))));
  const Message other = entry("o", 77, std::uint64_t{5});
  const auto store =
      open(traceOf({threadTrack(5, 1, 1, "t"),
                    at(1, slice(5, "a").set(4, dictionary).set(4, list).set(4, deep).set(4, other)),
                    at(2, end(5))}));
  const Args args(*store);
  const auto set = store->row<Range>(0).args;
  EXPECT_EQ(args.text(set, "d"), R"({"k": 3, "s": "v \"w\""})");
  EXPECT_EQ(args.text(set, "l"), "[1, true]");
  EXPECT_EQ(args.text(set, "n"), R"({"x": [["y"]]})");
  EXPECT_THAT(store->warnings(),
              testing::ElementsAre(
                  HasSubstr("1 annotations have names or values that lacuna does not read")));
}

TEST(PerfettoImport, CompressedPacketsAndFilesAreUnpacked) {
  const std::string inner =
      traceOf({threadTrack(5, 1, 1, "t"), at(1, slice(5, "a")), at(2, end(5))});
  std::string packed(compressBound(inner.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(inner.data()), inner.size());
  packed.resize(size);
  EXPECT_EQ(open(traceOf({Message().set(50, packed)}))->rows<Range>(), 1U);
  const test::TempFile file(".pftrace.gz");
  gzFile out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, inner.data(), static_cast<unsigned>(inner.size()));
  gzclose(out);
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->rows<Range>(), 1U);
}

TEST(PerfettoImport, ZstdPacketsAreUnpackedWithAndWithoutTheirLength) {
  const std::string inner = traceOf(
      {threadTrack(5, 1, 1, "t"), at(1, slice(5, std::string(200'000, 'a'))), at(2, end(5))});
  ZSTD_CCtx* context = ZSTD_createCCtx();
  for (const int hasLength : {1, 0}) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, hasLength);
    std::string packed(ZSTD_compressBound(inner.size()), '\0');
    packed.resize(
        ZSTD_compress2(context, packed.data(), packed.size(), inner.data(), inner.size()));
    EXPECT_EQ(open(traceOf({Message().set(133, packed)}))->rows<Range>(), 1U);
    const std::string cut = packed.substr(0, packed.size() / 2);
    const auto store = open(traceOf({Message().set(133, cut)}) + inner);
    EXPECT_EQ(store->rows<Range>(), 1U);
    EXPECT_THAT(store->warnings(), Contains(HasSubstr("1 packets are not well-formed")));
  }
  ZSTD_freeCCtx(context);
}

TEST(PerfettoImport, DamageIsNamedByItsByte) {
  const std::string full =
      traceOf({threadTrack(5, 1, 1, "t"), at(1, slice(5, "a")), at(2, end(5))});
  const std::string last = traceOf({at(2, end(5))});
  const auto cut = open(full.substr(0, full.size() - 3));
  EXPECT_EQ(cut->rows<Range>(), 1U);
  EXPECT_THAT(cut->warnings(), Contains(HasSubstr(fmt::format("byte {}: the packet breaks off",
                                                              full.size() - last.size()))));
  std::string bad = full;
  proto::putBytes(bad, 1, "\x5a\x7f");
  EXPECT_THAT(open(bad)->warnings(),
              Contains(HasSubstr(fmt::format("the first at byte {}", full.size()))));
  EXPECT_THAT(errorOf(traceOf({Message().set(8, 1)})), HasSubstr("no track events"));
  EXPECT_THAT(errorOf("\x0a\xff\xff\xff\xff\xff\xff\x7f"), HasSubstr("claims"));
}

TEST(PerfettoExport, EveryRowOfEveryTableComesBack) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto store = test::randomStore(seed);
    const test::TempFile file(seed % 2 == 0 ? ".pftrace" : ".pftrace.zst");
    ASSERT_EQ(formatOf(file.path()), Format::Perfetto);
    ASSERT_TRUE(exportTrace(*store, file.path(), Format::Perfetto).ok());
    const auto again = Store::open(file.path());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE((*again)->warnings().empty()) << (*again)->warnings().front();
    forEachTable([&]<class Row>() {
      EXPECT_EQ(test::difference<Row>(**again, *store), "") << "seed " << seed;
    });
  }
}

/// The trace as a reader sees it that skips our extension.
std::string withoutOurs(std::string_view trace) {
  std::string out;
  proto::Reader packets(trace);
  for (proto::Field packet; packets.next(packet);) {
    Message kept;
    proto::Reader fields(packet.bytes);
    for (proto::Field field; fields.next(field);) {
      if (field.number == 1987) continue;
      field.wire == proto::Wire::Bytes ? kept.set(field.number, field.bytes)
                                       : kept.set(field.number, field.value);
    }
    proto::putBytes(out, 1, kept.bytes);
  }
  return out;
}

TEST(PerfettoExport, OtherReadersSeeTheArguments) {
  StoreBuilder builder;
  builder.append(Thread{.id = ThreadId(1), .osTid = 7});
  builder.append(
      ArgSet{ArgSetId(1), builder.intern("+size\n=External id\n+a \\\"b\\\"\n+list\n+real\n+off")});
  const auto add = [&](std::string_view key, ArgType type, std::uint64_t bits) {
    builder.append(Arg{ArgSetId(1), ArgScope::Argument, builder.intern(key), type, bits});
  };
  add("size", ArgType::I64, static_cast<std::uint64_t>(-42));
  add("a \"b\"", ArgType::Text, builder.intern("text").value);
  add("list", ArgType::Json, builder.intern("[1, 2]").value);
  add("real", ArgType::F64, std::bit_cast<std::uint64_t>(0.5));
  add("off", ArgType::Bool, 0);
  builder.append(Range{.startNs = 5,
                       .durNs = 3,
                       .thread = ThreadId(1),
                       .name = builder.intern("op"),
                       .args = ArgSetId(1)});
  const test::TempFile file(".pftrace");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Perfetto).ok());
  std::ostringstream bytes;
  bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
  const auto again = open(withoutOurs(bytes.str()));
  const Args args(*again);
  const auto set = again->row<Range>(0).args;
  EXPECT_EQ(args.integer(set, "size"), -42);
  EXPECT_EQ(args.text(set, "a \"b\""), "text");
  EXPECT_EQ(args.text(set, "list"), "[1, 2]");
  ASSERT_TRUE(args.find(set, "real"));
  EXPECT_EQ(std::bit_cast<double>(args.find(set, "real")->bits), 0.5);
  ASSERT_TRUE(args.find(set, "off"));
  EXPECT_EQ(args.find(set, "off")->type, ArgType::Bool);
  EXPECT_TRUE(again->warnings().empty());
}

TEST(PerfettoExport, OtherReadersSeeTheSlicesCountersAndThreads) {
  const auto store = test::randomStore(3);
  const test::TempFile file(".pftrace");
  ASSERT_TRUE(exportTrace(*store, file.path(), Format::Perfetto).ok());
  std::ostringstream bytes;
  bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
  const auto again = open(withoutOurs(bytes.str()));
  EXPECT_EQ(test::difference<CounterSample>(*again, *store, " track "), "");
  std::vector<std::string> ours, theirs;
  const auto list = [](const Store& of, std::vector<std::string>& to) {
    for (std::uint64_t i = 0; i < of.rows<Range>(); ++i) {
      const auto row = of.row<Range>(i);
      std::uint32_t tid = 0;
      for (std::uint64_t t = 0; t < of.rows<Thread>(); ++t) {
        if (of.row<Thread>(t).id == row.thread) tid = of.row<Thread>(t).osTid;
      }
      to.push_back(fmt::format("{} {} {} {}", row.startNs, row.durNs, of.text(row.name), tid));
    }
    std::sort(to.begin(), to.end());
  };
  list(*store, ours);
  list(*again, theirs);
  // Slices of other tables lie on the same threads; each of our ranges is among them.
  EXPECT_TRUE(std::includes(theirs.begin(), theirs.end(), ours.begin(), ours.end()));
  EXPECT_GT(again->rows<Range>(), store->rows<Range>());
  EXPECT_EQ(again->rows<Flow>(), store->rows<Flow>());
}

}  // namespace
}  // namespace lacuna::analyzer
