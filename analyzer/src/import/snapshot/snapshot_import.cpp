// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "import/importers.h"
#include "import/snapshot/address_set.h"
#include "import/snapshot/pickle.h"
#include "import/trace_places.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using Ref = Pickle::Ref;

/// More than any device has, and little enough that sums fit.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
/// Longer texts are cut where they become part of others: a file may repeat one of megabytes in
/// every one.
constexpr std::size_t kLongestLabel = 1024;
/// Actions that are named in warnings, one each.
constexpr std::size_t kNamedActions = 20;

/// Turns the history and the state of PyTorch's caching allocator into allocations with stacks.
class SnapshotImport {
 public:
  SnapshotImport(const Pickle& pickle, StoreBuilder& builder)
      : pickle_(pickle), builder_(builder), places_(builder) {}

  Status run();

 private:
  struct Event {
    std::string_view action;
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t stream = 0;
    TimeNs timeNs = 0;
    Ref frames = 0;
    std::uint64_t free = 0;
  };
  /// The memory that was there before one device's history began, as it shows, and what is there at
  /// its end.
  struct Live {
    std::map<std::uint64_t, std::uint64_t> blocks;  ///< bytes by address
    AddressSet segments;  ///< a segment that can grow is mapped and unmapped in any pieces
  };

  std::int64_t number(Ref dictionary, std::string_view key) const {
    const auto found = pickle_.find(dictionary, key);
    return found ? pickle_.integer(*found) : 0;
  }
  std::string_view word(Ref dictionary, std::string_view key) const {
    const auto found = pickle_.find(dictionary, key);
    return found ? pickle_.text(*found) : std::string_view();
  }

  Status readTraces(Ref traces);
  bool readEvent(Ref entry, Event& event);
  void replay(std::uint32_t device, const std::vector<Event>& events);
  void before(std::uint32_t device, const Event& event, MemoryAction action);
  void addEvent(std::uint32_t device, const Event& event);
  void append(std::uint32_t device, const Event& event, MemoryAction action);
  void readSegments(Ref segments);
  void readSettings(Ref root);
  FrameId stackOf(Ref frames, StringId& innermost);
  StringId name(Ref dictionary, std::string_view key);
  StringId labelOf(const StackFrame& frame);
  void environment(std::string_view key, std::string_view value) {
    builder_.append(Environment{{}, builder_.intern(key), builder_.intern(value)});
  }

  const Pickle& pickle_;
  StoreBuilder& builder_;
  TracePlaces places_;
  std::size_t visits_ = 0;
  TimeNs firstNs_ = 0, lastNs_ = 0;
  bool hasTimes_ = true;
  std::uint64_t sequence_ = 0;
  std::uint32_t sets_ = 0;
  std::map<std::string_view, std::uint64_t> unknownActions_;
  std::uint64_t unusable_ = 0;
  std::string firstUnusable_;
  std::map<std::uint32_t, std::vector<Event>> events_;
  std::map<std::uint32_t, Live> live_;
  struct Stack {
    FrameId id;
    StringId innermost;
  };
  std::unordered_map<Ref, Stack> stacks_;
  std::unordered_map<std::uint32_t, StringId> names_;  ///< by the number of the pickle's text
  std::map<std::tuple<FrameId, StringId, StringId, std::uint32_t>, FrameId> frames_;
};

/// A text of the pickle among those of the trace. However often it is referred to, it is read once.
StringId SnapshotImport::name(Ref dictionary, std::string_view key) {
  const auto found = pickle_.find(dictionary, key);
  if (!found) return {};
  const auto [at, isNew] = names_.try_emplace(pickle_.textNumber(*found));
  if (isNew) at->second = builder_.intern(pickle_.text(*found));
  return at->second;
}

/// "function (file.py:12)" of a frame of Python's; none of others, and of those whose name is too
/// long for a label.
StringId SnapshotImport::labelOf(const StackFrame& frame) {
  const std::string_view file = builder_.text(frame.file);
  const std::string_view function = builder_.text(frame.function);
  if (!file.ends_with(".py") || function.size() > kLongestLabel) return {};
  // Many frames can share a path of megabytes: no more of it is read than a label can have.
  const std::string_view end = file.substr(file.size() - std::min(file.size(), kLongestLabel + 1));
  const std::string_view base = end.substr(end.rfind('/') + 1);
  return base.size() > kLongestLabel
             ? StringId()
             : builder_.intern(fmt::format("{} ({}:{})", function, base, frame.line));
}

/// Frames come innermost first.
FrameId SnapshotImport::stackOf(Ref frames, StringId& innermost) {
  const auto [at, isNew] = stacks_.try_emplace(frames);
  if (isNew) {
    const auto& list = pickle_.items(frames);
    FrameId parent;
    StringId leaf, python;
    for (std::size_t i = list.size(); i-- > 0;) {
      StackFrame frame;
      frame.parent = parent;
      frame.function = name(list[i], "name");
      frame.file = name(list[i], "filename");
      frame.line = static_cast<std::uint32_t>(number(list[i], "line"));
      const auto [known, isNewFrame] =
          frames_.try_emplace({frame.parent, frame.function, frame.file, frame.line}, FrameId());
      if (isNewFrame) {
        frame.id = known->second = FrameId(static_cast<std::uint32_t>(frames_.size()));
        builder_.append(frame);
      }
      parent = known->second;
      leaf = frame.function;
      if (const StringId label = labelOf(frame)) python = label;
    }
    at->second = {parent, python ? python : leaf};
  }
  innermost = at->second.innermost;
  return at->second.id;
}

bool SnapshotImport::readEvent(Ref entry, Event& event) {
  event.action = word(entry, "action");
  if (event.action.empty()) return false;
  event.address = static_cast<std::uint64_t>(number(entry, "addr"));
  const std::int64_t bytes = number(entry, "size");
  event.bytes = static_cast<std::uint64_t>(bytes);
  event.stream = static_cast<std::uint64_t>(number(entry, "stream"));
  event.free = static_cast<std::uint64_t>(number(entry, "device_free"));
  if (const auto frames = pickle_.find(entry, "frames")) event.frames = *frames;
  const auto time = pickle_.find(entry, "time_us");
  hasTimes_ &= time.has_value();
  const std::int64_t us = time ? pickle_.integer(*time) : static_cast<std::int64_t>(visits_);
  const bool isUsable = bytes >= 0 && bytes <= kMostBytes && us <= json::kFarthestNs / 1000 &&
                        us >= -json::kFarthestNs / 1000;
  if (!isUsable && ++unusable_ == 1)
    firstUnusable_ = fmt::format("{} at {}, {} bytes", event.action, us, bytes);
  event.timeNs = isUsable ? us * 1000 : 0;
  return isUsable;
}

Status SnapshotImport::readTraces(Ref traces) {
  const auto& devices = pickle_.items(traces);
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    for (const Ref entry : pickle_.items(devices[device])) {
      // Each event is a value of its own; a pickle that repeats one list over and over is not a
      // snapshot.
      if (++visits_ > pickle_.size())
        return Error{"its device_traces repeat each other: not a memory snapshot"};
      Event event;
      if (readEvent(entry, event)) events_[device].push_back(event);
    }
  }
  bool isFirst = true;
  for (const auto& [device, events] : events_) {
    for (const Event& event : events) {
      firstNs_ = isFirst ? event.timeNs : std::min(firstNs_, event.timeNs);
      lastNs_ = isFirst ? event.timeNs : std::max(lastNs_, event.timeNs);
      isFirst = false;
    }
  }
  return {};
}

void SnapshotImport::append(std::uint32_t device, const Event& event, MemoryAction action) {
  Allocation row;
  row.timeNs = event.timeNs;
  row.device = places_.device(DeviceKind::Cuda, device, device);
  row.queue = places_.queue(row.device, places_.process(0, 0), event.stream, event.stream);
  row.sequence = ++sequence_;
  row.action = action;
  row.role = action == MemoryAction::Reserve || action == MemoryAction::Release ? MemoryRole::Cached
                                                                                : MemoryRole::Other;
  row.address = event.address;
  row.bytes = event.bytes;
  if (const FrameId stack = event.frames == 0 ? FrameId() : stackOf(event.frames, row.op)) {
    row.args = ArgSetId(++sets_);
    builder_.append(ArgSet{row.args, builder_.intern(std::string{kShapeStored} + "stack")});
    builder_.append(
        Arg{row.args, ArgScope::Argument, builder_.intern("stack"), ArgType::I64, stack.value});
  }
  builder_.append(row);
}

void SnapshotImport::before(std::uint32_t device, const Event& event, MemoryAction action) {
  Event earlier = event;
  earlier.timeNs = firstNs_;
  append(device, earlier, action);
}

/// Memory given back without having been taken was there before the history began: it is taken at
/// its start.
void SnapshotImport::replay(std::uint32_t device, const std::vector<Event>& events) {
  Live& live = live_[device];
  for (const Event& event : events) {
    const auto was = [&](MemoryAction action, std::uint64_t address, std::uint64_t bytes) {
      Event bare = event;
      bare.frames = 0;
      bare.address = address;
      bare.bytes = bytes;
      before(device, bare, action);
    };
    if (event.action == "alloc") live.blocks[event.address] = event.bytes;
    if (event.action == "free_completed" && live.blocks.erase(event.address) == 0) {
      was(MemoryAction::Allocate, event.address, event.bytes);
    }
    if (event.action == "segment_alloc" || event.action == "segment_map") {
      live.segments.add(event.address, event.bytes, [](std::uint64_t, std::uint64_t) {});
    }
    if (event.action == "segment_free" || event.action == "segment_unmap") {
      live.segments.remove(event.address, event.bytes,
                           [&](std::uint64_t address, std::uint64_t bytes) {
                             was(MemoryAction::Reserve, address, bytes);
                           });
    }
  }
}

void SnapshotImport::addEvent(std::uint32_t device, const Event& event) {
  if (event.action == "alloc") return append(device, event, MemoryAction::Allocate);
  if (event.action == "free_completed") return append(device, event, MemoryAction::Free);
  if (event.action == "segment_alloc" || event.action == "segment_map") {
    return append(device, event, MemoryAction::Reserve);
  }
  if (event.action == "segment_free" || event.action == "segment_unmap") {
    return append(device, event, MemoryAction::Release);
  }
  if (event.action == "oom") {
    LogLine line;
    line.timeNs = event.timeNs;
    line.level = LogLevel::Error;
    line.source = builder_.intern("torch.cuda");
    line.text = builder_.intern(
        fmt::format("out of memory on cuda:{}: {} bytes wanted, {} free on the device", device,
                    event.bytes, event.free));
    builder_.append(line);
    return;
  }
  if (event.action == "free_requested" || event.action == "snapshot") {
    Mark mark;
    mark.timeNs = event.timeNs;
    mark.domain = builder_.intern("torch.cuda");
    mark.category = builder_.intern(fmt::format("cuda:{}", device));
    mark.name = builder_.intern(event.action);
    mark.payloadType = PayloadType::U64;
    mark.payload = event.address;
    builder_.append(mark);
    return;
  }
  ++unknownActions_[event.action];
}

/// The state at the end: what the history does not explain was there before it began.
void SnapshotImport::readSegments(Ref segments) {
  struct Sum {
    std::uint64_t segments = 0, bytes = 0, allocated = 0, active = 0, inactive = 0;
  };
  std::map<std::uint32_t, Sum> sums;
  for (const Ref segment : pickle_.items(segments)) {
    if (++visits_ > 2 * pickle_.size()) return;
    const auto device = static_cast<std::uint32_t>(number(segment, "device"));
    Live& live = live_[device];
    Sum& sum = sums[device];
    Event event;
    event.stream = static_cast<std::uint64_t>(number(segment, "stream"));
    event.address = static_cast<std::uint64_t>(number(segment, "address"));
    event.bytes = static_cast<std::uint64_t>(number(segment, "total_size"));
    if (const auto frames = pickle_.find(segment, "frames")) event.frames = *frames;
    ++sum.segments;
    sum.bytes += event.bytes;
    sum.allocated += static_cast<std::uint64_t>(number(segment, "allocated_size"));
    sum.active += static_cast<std::uint64_t>(number(segment, "active_size"));
    live.segments.add(event.address, event.bytes, [&](std::uint64_t address, std::uint64_t bytes) {
      Event part = event;
      part.address = address;
      part.bytes = bytes;
      before(device, part, MemoryAction::Reserve);
    });
    std::uint64_t address = event.address;
    const auto blocks = pickle_.find(segment, "blocks");
    if (!blocks) continue;
    for (const Ref block : pickle_.items(*blocks)) {
      if (++visits_ > 2 * pickle_.size()) return;
      // Older snapshots give no addresses: blocks lie one after the other.
      const auto given = pickle_.find(block, "address");
      if (given) address = static_cast<std::uint64_t>(pickle_.integer(*given));
      event.address = address;
      event.bytes = static_cast<std::uint64_t>(number(block, "size"));
      event.frames = pickle_.find(block, "frames").value_or(0);
      address += event.bytes;
      if (!word(block, "state").starts_with("active")) {
        sum.inactive += event.bytes;
      } else if (!live.blocks.contains(event.address)) {
        before(device, event, MemoryAction::Allocate);
      }
    }
  }
  for (const auto& [device, sum] : sums) {
    const auto addFact = [&, device = device](const char* what, std::uint64_t value) {
      environment(fmt::format("allocator.cuda:{}.{}", device, what), std::to_string(value));
    };
    addFact("segments", sum.segments);
    addFact("reserved_bytes", sum.bytes);
    addFact("allocated_bytes", sum.allocated);
    addFact("active_bytes", sum.active);
    addFact("inactive_bytes", sum.inactive);
  }
}

void SnapshotImport::readSettings(Ref root) {
  const auto settings = pickle_.find(root, "allocator_settings");
  if (!settings) return;
  const auto& pairs = pickle_.items(*settings);
  for (std::size_t i = 0; i + 1 < pairs.size() && i < 200; i += 2) {
    const Ref value = pairs[i + 1];
    if (pickle_.text(pairs[i]).size() > kLongestLabel || pickle_.text(value).size() > kLongestLabel)
      continue;
    std::string text(pickle_.text(value));
    if (pickle_.type(value) == Pickle::Type::Bool)
      text = pickle_.integer(value) != 0 ? "true" : "false";
    if (pickle_.type(value) == Pickle::Type::Integer) text = std::to_string(pickle_.integer(value));
    if (pickle_.type(value) == Pickle::Type::Real) text = fmt::format("{}", pickle_.real(value));
    environment(fmt::format("allocator.setting.{}", pickle_.text(pairs[i])), text);
  }
}

Status SnapshotImport::run() {
  Ref root = pickle_.root();
  // Early versions pickled the list of segments alone.
  const bool isList =
      pickle_.type(root) == Pickle::Type::List &&
      (pickle_.items(root).empty() || pickle_.find(pickle_.items(root).front(), "total_size"));
  const auto segments = isList ? std::optional<Ref>(root) : pickle_.find(root, "segments");
  const auto traces = isList ? std::nullopt : pickle_.find(root, "device_traces");
  if (!segments && !traces) {
    return Error{
        "is a pickle, but not a memory snapshot: it has no \"segments\" and no \"device_traces\"; "
        "make one with torch.cuda.memory._dump_snapshot"};
  }
  environment("source.format", "torch-memory-snapshot");
  places_.name(places_.process(0, 0), "PyTorch memory snapshot");
  if (traces) {
    if (auto status = readTraces(*traces); !status) return status;
  }
  for (const auto& [device, events] : events_) replay(device, events);
  if (segments) readSegments(*segments);
  for (const auto& [device, events] : events_) {
    for (const Event& event : events) addEvent(device, event);
  }
  readSettings(root);
  if (builder_.columns<Allocation>().timeNs.empty() && builder_.columns<LogLine>().timeNs.empty()) {
    return Error{
        "the memory snapshot is empty: no segments and no history. Record with "
        "torch.cuda.memory._record_memory_history() before the code of interest"};
  }
  if (!hasTimes_ && traces) {
    builder_.addWarning(
        "events have no times (an old version of PyTorch): they are laid out one microsecond "
        "apart");
  } else {
    builder_.append(Clock{firstNs_, firstNs_, 0, {}});
  }
  if (unusable_ > 0) {
    builder_.addWarning(fmt::format(
        "{} events have a size or a time that none can have and were left out, the first: {}",
        unusable_, firstUnusable_));
  }
  std::size_t named = 0;
  for (const auto& [action, count] : unknownActions_) {
    if (++named > kNamedActions) break;
    builder_.addWarning(fmt::format("{} events with the unknown action \"{}\" were left out", count,
                                    action.substr(0, kLongestLabel)));
  }
  if (unknownActions_.size() > kNamedActions) {
    builder_.addWarning(fmt::format("so were events with {} other actions",
                                    unknownActions_.size() - kNamedActions));
  }
  spanPlaces(builder_);
  auto& processes = builder_.columns<Process>();
  processes.startNs[0] = firstNs_;
  processes.endNs[0] = lastNs_;
  return {};
}

}  // namespace

StoreResult importSnapshot(const std::filesystem::path& path, const OpenOptions& options) {
  const auto source = ByteSource::open(path, options.budget);
  if (!source) return source.error();
  const auto goOn = [&] {
    return !options.progress || options.progress((*source)->progress() * 0.8);
  };
  const auto pickle = Pickle::read(
      **source, options.budget.most(Budget::Item::Values, (*source)->fileBytes()), goOn);
  if (!pickle) return Error{fmt::format("{}: {}", path.string(), pickle.error().message)};
  StoreBuilder builder;
  builder.setPath(path);
  SnapshotImport import(*pickle, builder);
  if (const auto status = import.run(); !status) {
    return Error{fmt::format("{}: {}", path.string(), status.error().message)};
  }
  return builder.build();
}

constinit const Importer kPickleImporter{
    .kind = SourceKind::Pickle,
    .name = "memory snapshot of PyTorch",
    .plural = "memory snapshots of PyTorch",
    // Protocol 2 and later start with their number.
    .recognises =
        [](std::string_view head) {
          return head.front() == '\x80' && head.size() > 1 && head[1] >= 2 && head[1] <= 5;
        },
    .open = importSnapshot,
};

}  // namespace lacuna::analyzer
