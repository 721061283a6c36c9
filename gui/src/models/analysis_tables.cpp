// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/analysis_tables.h"

#include <QCoreApplication>

#include "views/words.h"

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

TableData operatorTableOf(const analyzer::Analysis& analysis, bool byShapes) {
  const auto& rows = byShapes ? analysis.operatorShapes : analysis.operators;
  TableData table{texts("Operator", rows, [](const auto& r) { return QString::fromStdString(r.name); })};
  if (byShapes) {
    table.push_back(texts("Input shapes", rows, [](const auto& r) { return QString::fromStdString(r.shapes); }));
  }
  table.push_back(numbers("Calls", Kind::Count, rows, [](const auto& r) { return r.count; }));
  table.push_back(numbers("Host total", Kind::Duration, rows, [](const auto& r) { return r.totalNs; }));
  table.push_back(numbers("Host self", Kind::Duration, rows, [](const auto& r) { return r.selfNs; }));
  table.push_back(numbers("Device", Kind::Duration, rows, [](const auto& r) { return r.deviceNs; }));
  table.push_back(numbers("Memory kept", Kind::Bytes, rows, [](const auto& r) { return r.memBytes; }));
  return table;
}

TableData leakTable(const analyzer::Analysis& analysis) {
  const auto& rows = analysis.memory.leaked;
  return {texts("Tensor", rows, [](const auto& r) { return r.tensor.empty() ? tr("(unnamed)") : words(r.tensor); }),
          texts("Operator", rows, [](const auto& r) { return words(r.op); }),
          texts("Role", rows, [](const auto& r) { return words(analyzer::roleName(r.role)); }),
          numbers("Grows per step", Kind::Bytes, rows, [](const auto& r) { return r.bytes; })};
}

TableData areaTable(const Trace& trace, const analyzer::AreaStats& stats) {
  const auto& rows = stats.names;
  return {texts("Name", rows, [&](const auto& r) { return trace.name(r.name); }),
          numbers("Count", Kind::Count, rows, [](const auto& r) { return r.count; }),
          numbers("Total", Kind::Duration, rows, [](const auto& r) { return r.totalNs; }),
          numbers("Longest", Kind::Duration, rows, [](const auto& r) { return r.longestNs; })};
}

TableData momentTable(const Trace& trace, const analyzer::MemoryMoment& moment) {
  const auto& rows = moment.live;
  const prof::TimeNs zero = trace.tracks->span.startNs;
  const prof::TimeNs end = trace.tracks->span.endNs;
  return {texts("Tensor", rows,
                [](const auto& r) { return r.tensor.tensor.empty() ? tr("(unnamed)") : words(r.tensor.tensor); }),
          texts("Operator", rows, [](const auto& r) { return words(r.tensor.op); }),
          texts("Role", rows, [](const auto& r) { return words(analyzer::roleName(r.tensor.role)); }),
          numbers("Size", Kind::Bytes, rows, [](const auto& r) { return r.tensor.bytes; }),
          numbers("Since", Kind::Duration, rows, [&](const auto& r) { return r.tensor.allocatedNs - zero; }),
          numbers("Lives", Kind::Duration, rows,
                  [&](const auto& r) { return r.freed ? r.lifetimeNs() : end - r.tensor.allocatedNs; })};
}

QString verdictWords(const analyzer::Comparison& row) {
  if (row.appeared()) return tr("new");
  if (row.vanished()) return tr("gone");
  const bool time = row.unit == "ns";
  if (row.worse()) return time ? tr("slower") : tr("more");
  if (row.better()) return time ? tr("faster") : row.unit.empty() ? tr("fewer") : tr("less");
  return tr("same");
}

namespace {

TableColumn verdicts(const std::vector<analyzer::Comparison>& rows) {
  TableColumn column = texts("", rows, [](const auto& r) { return verdictWords(r); });
  for (const auto& row : rows) column.tones.push_back(row.worse() ? 1 : row.better() ? -1 : 0);
  return column;
}

QString figure(const analyzer::Comparison& row, double value) {
  if (row.unit == "ns") return durationWords(value);
  if (row.unit == "bytes") return bytesWords(value);
  return QString::number(value, 'f', 1);
}

template <class Rows, class Get>
TableColumn figures(const char* title, const Rows& rows, Get&& get) {
  TableColumn column = texts(title, rows, get);
  column.right = true;
  return column;
}

}  // namespace

TableData comparisonTable(const std::vector<analyzer::Comparison>& rows, const QString& what) {
  TableColumn names{what, Kind::Text};
  for (const auto& row : rows) {
    QString name = words(row.what);
    for (const char* prefix : {"kernel ", "operator "}) {
      if (name.startsWith(QLatin1String(prefix))) name.remove(0, static_cast<int>(qstrlen(prefix)));
    }
    names.texts.push_back(name);
  }
  return {names,
          verdicts(rows),
          numbers("Before", Kind::Duration, rows, [](const auto& r) { return r.before; }),
          numbers("After", Kind::Duration, rows, [](const auto& r) { return r.after; }),
          numbers("Change", Kind::Duration, rows, [](const auto& r) { return r.change(); }),
          numbers("Change in %", Kind::Percent, rows, [](const auto& r) { return r.changeShare(); }),
          numbers("Noise explains", Kind::Duration, rows, [](const auto& r) { return r.threshold; })};
}

TableData mixedComparisonTable(const std::vector<analyzer::Comparison>& rows, const QString& what) {
  TableColumn names{what, Kind::Text};
  for (const auto& row : rows) names.texts.push_back(words(row.what));
  return {names,
          verdicts(rows),
          figures("Before", rows, [](const auto& r) { return figure(r, r.before); }),
          figures("After", rows, [](const auto& r) { return figure(r, r.after); }),
          figures("Change", rows, [](const auto& r) { return figure(r, r.change()); }),
          numbers("Change in %", Kind::Percent, rows, [](const auto& r) { return r.changeShare(); }),
          figures("Noise explains", rows, [](const auto& r) { return figure(r, r.threshold); })};
}

}  // namespace lacuna::gui
