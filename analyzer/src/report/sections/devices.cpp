// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "analysis/devices.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "report/ledger_table.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_devices {
namespace {

void text(TextPage& page, const Analysis& analysis, int) {
  // One device is the ledger above.
  if (!page.isAskedFor() && analysis.devices.size() < 2) return;
  page.title(sections::devices.title);
  if (analysis.devices.empty()) page.line(" none did any work");
  for (const DeviceAccount& device : analysis.devices) {
    const std::int64_t span =
        std::max<std::int64_t>(1, device.window.endNs - device.window.startNs);
    page.line(fmt::format(
        " {} {}  {} busy of {}, {}{}", padded(device.label, 8),
        shortened(device.name, page.width() / 3),
        prof::shareText(static_cast<double>(device.ledger.busyNs()) / static_cast<double>(span)),
        prof::timeText(span), prof::countText(device.kernels, "kernel"),
        device.rank >= 0 ? fmt::format(", rank {}", device.rank) : ""));
    page.bar(device.ledger);
  }
}

const Column<DeviceAccount> kColumns[]{
    {{"id", "device", ColumnKind::Text, "`cuda:0`"}, kValueOf<&DeviceAccount::label>},
    {{"kind", "", ColumnKind::Text, "`cuda`, `cpu`, …"},
     [](const DeviceAccount& row) -> TableCell { return std::string(deviceKindName(row.kind)); }},
    {{"index", "", ColumnKind::Count, "of its kind, in its process"},
     kValueOf<&DeviceAccount::index>},
    {{"uuid", "", ColumnKind::Text, "empty where not known"}, kValueOf<&DeviceAccount::uuid>},
    {{"name", "name", ColumnKind::Text, "the product"}, kValueOf<&DeviceAccount::name>},
    {{"process", "", ColumnKind::Count, "the operating system's number"},
     kValueOf<&DeviceAccount::osPid>},
    {{"rank", "rank", ColumnKind::Count, "-1 where there is none"}, kValueOf<&DeviceAccount::rank>},
    {{"span_ns", "span", ColumnKind::Time, "from its first work to its last"},
     [](const DeviceAccount& row) -> TableCell { return row.window.endNs - row.window.startNs; }},
    {{"busy_ns", "busy", ColumnKind::Time, "of the span"},
     [](const DeviceAccount& row) -> TableCell { return row.ledger.busyNs(); }},
    {{"idle_ns", "idle", ColumnKind::Time, "of the span"},
     [](const DeviceAccount& row) -> TableCell { return row.ledger.idleNs(); }},
    {{"kernel_ns", "", ColumnKind::Time, "kernels, added up"}, kValueOf<&DeviceAccount::kernelNs>},
    {{"memcpy_ns", "", ColumnKind::Time, "copies, added up"}, kValueOf<&DeviceAccount::memcpyNs>},
    {{"memset_ns", "", ColumnKind::Time, "fills, added up"}, kValueOf<&DeviceAccount::memsetNs>},
    {{"comm_ns", "", ColumnKind::Time, "communication, added up"},
     kValueOf<&DeviceAccount::commNs>},
    {{"comm_exposed_ns", "", ColumnKind::Time, "communication that no compute hides"},
     [](const DeviceAccount& row) -> TableCell { return row.ledger[Cause::ExposedCommunication]; }},
    {{"kernels", "kernels", ColumnKind::Count, "that it ran"}, kValueOf<&DeviceAccount::kernels>},
};

const Column<QueueAccount> kQueues[]{
    {{"name", "", ColumnKind::Text, "of the queue"}, kValueOf<&QueueAccount::name>},
};

std::vector<Table> insideDevice(const DeviceAccount& device) {
  return {
      ledgerTable(device.ledger, device.bands),
      holding(tableOf("queues", "by their number", kQueues, device.queues), [&](std::size_t row) {
        return std::vector{ledgerTable(device.queues[row].ledger, device.queues[row].bands)};
      })};
}

std::vector<Table> tables(const Analysis& analysis) {
  return {holding(tableOf("devices", "by kind and index", kColumns, analysis.devices),
                  [&](std::size_t row) { return insideDevice(analysis.devices[row]); })};
}

void html(HtmlPage& page, const Analysis& analysis) {
  if (analysis.devices.size() < 2) return;
  page.heading(sections::devices.title);
  for (const DeviceAccount& device : analysis.devices) {
    page.markup(fmt::format("<div class=\"dim\">{}{}{}{}</div>", device.label,
                            device.name.empty() ? "" : " ", xmlText(device.name),
                            device.rank >= 0 ? fmt::format(", rank {}", device.rank) : ""));
    page.bar(device.ledger, device.bands);
  }
}

}  // namespace
}  // namespace of_devices

constinit const Section devices{
    .name = "devices",
    .title = "Devices",
    .about = "each device's own ledger",
    .tables = of_devices::tables,
    .overviewRows = INT_MAX,
    .text = of_devices::text,
    .html = of_devices::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
