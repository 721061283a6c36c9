// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/devices.h"
#include "lacuna/prof/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace lacuna::analyzer {
namespace {

using prof::DeviceId;
using prof::QueueId;
using prof::TimeNs;
using prof::TimeWindow;

struct Total {
  std::int64_t ns = 0;
  std::uint64_t count = 0;
};

/// First start, last end and sums of what ran on each queue.
struct QueueSums {
  TimeNs startNs = INT64_MAX;
  TimeNs endNs = INT64_MIN;
  Total kernel, copy, set, comm;
};

class Summer {
 public:
  Summer(const Store& store, TimeWindow window) : store_(store), window_(window), classes_(store) {}

  prof::Status run() {
    if (auto status = add<prof::Kernel>(&QueueSums::kernel); !status) return status;
    if (auto status = add<prof::Memcpy>(&QueueSums::copy); !status) return status;
    return add<prof::Memset>(&QueueSums::set);
  }
  std::unordered_map<QueueId, QueueSums> queues;

 private:
  template <class Row>
  prof::Status add(Total QueueSums::*kind) {
    return store_.scan<&Row::startNs, &Row::durNs, &Row::queue, &Row::name>(
        window_, [&](std::uint64_t, auto start, auto dur, auto queue, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            const TimeNs from = std::max(start[i], window_.startNs);
            const TimeNs to = std::min(start[i] + dur[i], window_.endNs);
            if (from > to || start[i] >= window_.endNs || (dur[i] > 0 && from == to)) continue;
            QueueSums& sums = queues[queue[i]];
            sums.startNs = std::min(sums.startNs, from);
            sums.endNs = std::max(sums.endNs, to);
            addTo(sums.*kind, to - from);
            if (std::is_same_v<Row, prof::Kernel> &&
                classes_.ofKernel(name[i]) == Work::Communication) {
              addTo(sums.comm, to - from);
            }
          }
        });
  }
  static void addTo(Total& work, std::int64_t ns) {
    prof::addTo(work.ns, ns);
    ++work.count;
  }

  const Store& store_;
  TimeWindow window_;
  NameClasses classes_;
};

DeviceAccount describe(const Store& store, const prof::Device& device) {
  DeviceAccount account;
  account.id = device.id;
  account.kind = device.kind;
  account.index = device.index;
  account.label = deviceLabel(device.kind, device.index);
  account.uuid = store.text(device.uuid);
  account.name = store.text(device.name);
  account.memoryBytes = device.memoryBytes;
  account.memoryBandwidth = device.memoryBandwidth;
  account.cores = device.multiprocessors;
  account.window = {INT64_MAX, INT64_MIN};
  return account;
}

void addQueue(DeviceAccount& account, QueueId id, std::string name, const QueueSums& sums) {
  account.window.startNs = std::min(account.window.startNs, sums.startNs);
  account.window.endNs = std::max(account.window.endNs, sums.endNs);
  prof::addTo(account.kernelNs, sums.kernel.ns);
  prof::addTo(account.memcpyNs, sums.copy.ns);
  prof::addTo(account.memsetNs, sums.set.ns);
  prof::addTo(account.commNs, sums.comm.ns);
  account.kernels += sums.kernel.count;
  account.queues.push_back({id, std::move(name), {}, {}});
}

bool isWanted(const DeviceAccount& account, const AnalysisOptions& options) {
  if (!options.device.empty() && account.label != options.device) return false;
  return !options.rank || account.rank == *options.rank;
}

constexpr std::size_t kNamedDevices = 16;

/// The devices that did work, those of several processes once.
std::string known(const std::vector<DeviceAccount>& all, bool withRanks) {
  std::vector<std::string> names;
  for (const DeviceAccount& account : all) {
    std::string name = withRanks && account.rank >= 0
                           ? fmt::format("rank {} on {}", account.rank, account.label)
                           : account.label;
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  const std::size_t more = names.size() - std::min(names.size(), kNamedDevices);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(", and {} more", more) : "");
}

/// Why none of the devices that did work is of those asked for.
std::string noneWanted(const std::vector<DeviceAccount>& all, const AnalysisOptions& options) {
  const auto any = [&](auto is) { return std::any_of(all.begin(), all.end(), is); };
  if (all.empty())
    return fmt::format("no device did any work here, so {} selects nothing; leave it out",
                       options.device.empty() ? "--rank" : "--device");
  if (!options.device.empty() &&
      !any([&](const DeviceAccount& account) { return account.label == options.device; }))
    return fmt::format("no device '{}' did any work here; there is: {}", options.device,
                       known(all, false));
  if (!any([](const DeviceAccount& account) { return account.rank >= 0; })) {
    return fmt::format(
        "the trace does not name its rank, so --rank {} selects nothing; leave it out",
        *options.rank);
  }
  const std::string device =
      options.device.empty() ? "no device" : fmt::format("no device '{}'", options.device);
  return fmt::format("{} of rank {} did any work here; there is: {}", device, *options.rank,
                     known(all, true));
}

}  // namespace

std::string_view deviceKindName(prof::DeviceKind kind) {
  switch (kind) {
    case prof::DeviceKind::Cpu:
      return "cpu";
    case prof::DeviceKind::Cuda:
      return "cuda";
    case prof::DeviceKind::Rocm:
      return "rocm";
    case prof::DeviceKind::Other:
      break;
  }
  return "device";
}

std::string deviceLabel(prof::DeviceKind kind, std::uint32_t index) {
  return fmt::format("{}:{}", deviceKindName(kind), index);
}

DeviceLabels::DeviceLabels(const Store* store) {
  for (std::uint64_t i = 0; store != nullptr && i < store->rows<prof::Device>(); ++i) {
    const auto row = store->row<prof::Device>(i);
    if (row.id) labels_.try_emplace(row.id, deviceLabel(row.kind, row.index));
  }
}

std::string DeviceLabels::of(prof::DeviceId id) const {
  const auto found = labels_.find(id);
  return found == labels_.end() ? std::string() : found->second;
}

std::string whoseMemory(const Analysis& analysis, const DeviceLabels& labels, prof::DeviceId id) {
  const std::string label = labels.of(id);
  if (label.empty()) return "the host";
  const auto device = std::ranges::find(analysis.devices, id, &DeviceAccount::id);
  if (analysis.devices.size() < 2 || device == analysis.devices.end() || device->rank < 0)
    return label;
  return fmt::format("{} of rank {}", label, device->rank);
}

prof::Result<std::vector<DeviceAccount>> listDevices(const Store& store, TimeWindow window,
                                                     const AnalysisOptions& options) {
  Summer summer(store, window);
  if (auto status = summer.run(); !status) return status.error();
  std::unordered_map<prof::ProcessId, prof::Process> processes;
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto process = store.row<prof::Process>(i);
    processes[process.id] = process;
  }
  std::vector<DeviceAccount> accounts;
  std::unordered_map<DeviceId, std::size_t> position;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    position[device.id] = accounts.size();
    accounts.push_back(describe(store, device));
  }
  for (std::uint64_t i = 0; i < store.rows<prof::Queue>(); ++i) {
    const auto queue = store.row<prof::Queue>(i);
    const auto sums = summer.queues.find(queue.id);
    if (sums == summer.queues.end()) continue;
    const auto [at, isNew] = position.try_emplace(queue.device, accounts.size());
    if (isNew) accounts.push_back(describe(store, {.id = queue.device}));
    DeviceAccount& account = accounts[at->second];
    // Kineto calls its streams "stream 7 ".
    std::string name(store.text(queue.name));
    name.erase(name.find_last_not_of(' ') + 1);
    addQueue(account, queue.id, name.empty() ? fmt::format("queue {}", queue.nativeId) : name,
             sums->second);
    const auto process = processes.find(queue.process);
    if (process == processes.end() || account.osPid != 0) continue;
    account.osPid = process->second.osPid;
    account.rank = process->second.rank;
  }
  std::erase_if(accounts, [](const DeviceAccount& account) { return account.queues.empty(); });
  std::vector<DeviceAccount> wanted;
  std::copy_if(accounts.begin(), accounts.end(), std::back_inserter(wanted),
               [&](const DeviceAccount& account) { return isWanted(account, options); });
  if (wanted.empty() && (!options.device.empty() || options.rank))
    return prof::Error{fmt::format("{}: {}", store.path().string(), noneWanted(accounts, options))};
  return wanted;
}

QueuePlace placeOf(const Analysis& analysis, prof::QueueId queue) {
  for (const DeviceAccount& device : analysis.devices) {
    for (const QueueAccount& account : device.queues) {
      if (account.id == queue) return {device.label, account.name};
    }
  }
  return {};
}

}  // namespace lacuna::analyzer
