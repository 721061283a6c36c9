// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/analysis_tables.h"

#include <QCoreApplication>

namespace lacuna::gui {

namespace {

using Kind = TableColumn::Kind;

QString tr(const char* text) {
  return QCoreApplication::translate("Tables", text);
}

template <class Rows, class Get>
TableColumn texts(const char* title, const Rows& rows, Get&& get) {
  TableColumn column{tr(title), Kind::Text};
  column.texts.reserve(rows.size());
  for (const auto& row : rows) column.texts.push_back(get(row));
  return column;
}

template <class Rows, class Get>
TableColumn numbers(const char* title, Kind kind, const Rows& rows, Get&& get) {
  TableColumn column{tr(title), kind};
  column.numbers.reserve(rows.size());
  for (const auto& row : rows) column.numbers.push_back(static_cast<double>(get(row)));
  return column;
}

}  // namespace

TableData kernelTableOf(const analyzer::Analysis& analysis) {
  const auto& rows = analysis.kernels;
  return {texts("Kernel", rows, [](const auto& r) { return QString::fromStdString(r.name); }),
          numbers("Calls", Kind::Count, rows, [](const auto& r) { return r.count; }),
          numbers("Total", Kind::Duration, rows, [](const auto& r) { return r.totalNs; }),
          numbers("Mean", Kind::Duration, rows, [](const auto& r) { return r.meanNs(); }),
          numbers("Shortest", Kind::Duration, rows, [](const auto& r) { return r.minNs; }),
          numbers("Longest", Kind::Duration, rows, [](const auto& r) { return r.maxNs; })};
}

TableData operatorTableOf(const analyzer::Analysis& analysis) {
  const auto& rows = analysis.operators;
  return {texts("Operator", rows, [](const auto& r) { return QString::fromStdString(r.name); }),
          texts("Shapes", rows, [](const auto& r) { return QString::fromStdString(r.shapes); }),
          numbers("Calls", Kind::Count, rows, [](const auto& r) { return r.count; }),
          numbers("Host total", Kind::Duration, rows, [](const auto& r) { return r.totalNs; }),
          numbers("Host self", Kind::Duration, rows, [](const auto& r) { return r.selfNs; }),
          numbers("Device", Kind::Duration, rows, [](const auto& r) { return r.deviceNs; })};
}

TableData liveTable(const analyzer::Analysis& analysis) {
  const auto& rows = analysis.memory.live;
  return {texts("Tensor", rows,
                [](const auto& r) { return QString::fromStdString(r.tensor.empty() ? "(unnamed)" : r.tensor); }),
          texts("Operator", rows, [](const auto& r) { return QString::fromStdString(r.op); }),
          texts("Role", rows,
                [](const auto& r) { return QString::fromStdString(std::string(analyzer::roleName(r.role))); }),
          numbers("Size", Kind::Bytes, rows, [](const auto& r) { return r.bytes; })};
}

TableData areaTable(const Trace& trace, const analyzer::AreaStats& stats) {
  const auto& rows = stats.names;
  return {texts("Name", rows, [&](const auto& r) { return trace.name(r.name); }),
          numbers("Count", Kind::Count, rows, [](const auto& r) { return r.count; }),
          numbers("Total", Kind::Duration, rows, [](const auto& r) { return r.totalNs; }),
          numbers("Longest", Kind::Duration, rows, [](const auto& r) { return r.longestNs; })};
}

}  // namespace lacuna::gui
