// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/analysis_tables.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/words.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/table.h"
#include "timeline/text.h"

namespace lacuna::gui {

namespace {

using Kind = TableColumn::Kind;

/// Translators find a text under the name of a class; functions have none.
struct Tables {
  Q_DECLARE_TR_FUNCTIONS(Tables)
};

/// Thousands of rows may share a text of megabytes, and no column is that wide.
QString cellText(const QString& text) {
  constexpr qsizetype kLongest = 1000;
  return text.size() <= kLongest ? text : text.left(kLongest) + QChar(u'…');
}

template <class Rows, class Get>
TableColumn texts(const QString& title, const Rows& rows, Get&& get) {
  TableColumn column{title, Kind::Text};
  column.texts.reserve(rows.size());
  for (const auto& row : rows) column.texts.push_back(cellText(get(row)));
  return column;
}

template <class Rows, class Get>
TableColumn numbers(const QString& title, Kind kind, const Rows& rows, Get&& get) {
  TableColumn column{title, kind};
  column.numbers.reserve(rows.size());
  for (const auto& row : rows) column.numbers.push_back(static_cast<double>(get(row)));
  return column;
}

/// The same column, drawn as bars too.
TableColumn asBars(TableColumn column) {
  column.bar = true;
  return column;
}

/// The key that a text of a figure sorts by: its unit, then its size.
using FigureKey = std::pair<int, double>;

/// Texts of figures, aligned as numbers are, which sort by these keys and not by their letters.
TableColumn sortedBy(TableColumn column, const std::vector<FigureKey>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  column.right = true;
  column.numbers.resize(keys.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    column.numbers[order[place]] = static_cast<double>(place);
  return column;
}

Kind kindOf(analyzer::ColumnKind kind) {
  switch (kind) {
    case analyzer::ColumnKind::Time:
      return Kind::Duration;
    case analyzer::ColumnKind::Bytes:
      return Kind::Bytes;
    case analyzer::ColumnKind::Share:
      return Kind::Percent;
    case analyzer::ColumnKind::Count:
      return Kind::Count;
    default:
      return Kind::Text;
  }
}

/// Notes what recording may have added to each of a column's figures.
void addBands(const analyzer::Table& table, std::size_t band, TableColumn& figures) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string share = table.text(row, band);
    figures.notes.push_back(share.empty()
                                ? QString()
                                : Tables::tr("%1: recording may have added %2 to it")
                                      .arg(words(share), durationWords(table.number(row, band))));
  }
}

TableColumn columnOf(const analyzer::Table& table, std::size_t at) {
  const analyzer::ColumnInfo& info = table.columns[at];
  QString title = Tables::tr(std::string(info.heading).c_str());
  title.replace(0, 1, title.left(1).toUpper());
  TableColumn column{title, kindOf(info.kind)};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (column.kind == Kind::Text) {
      column.texts.push_back(words(table.text(row, at)));
    } else {
      column.numbers.push_back(table.number(row, at));
    }
  }
  return column;
}

}  // namespace

namespace {

/// A table of the report. `bar`: the key of the column that is drawn too.
TableData tableOf(const analyzer::Table& table, std::string_view bar) {
  TableData out;
  std::vector<std::string_view> keys;
  for (const std::size_t at : table.shownColumns()) {
    const analyzer::ColumnInfo& info = table.columns[at];
    if (info.kind == analyzer::ColumnKind::Band) {
      const auto figures = std::find(keys.begin(), keys.end(), info.figure);
      if (figures != keys.end())
        addBands(table, at, out[static_cast<std::size_t>(figures - keys.begin())]);
      continue;
    }
    out.push_back(columnOf(table, at));
    out.back().bar = info.key == bar;
    keys.push_back(info.key);
  }
  return out;
}

}  // namespace

TableData kernelTableOf(const analyzer::Analysis& analysis) {
  return tableOf(analyzer::reportTable(analysis, "kernels"), "total_ns");
}

TableData operatorTableOf(const analyzer::Analysis& analysis, bool byShapes) {
  const auto& rows = byShapes ? analysis.of<analyzer::OperatorTables>().byShapes
                              : analysis.of<analyzer::OperatorTables>().byName;
  // The cost of an operator is the device's time where there is any.
  const bool device =
      std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.deviceNs > 0; });
  return tableOf(analyzer::reportTable(analysis, byShapes ? "operators" : "operator_names"),
                 device ? "device_ns" : "host_self_ns");
}

TableData causeTable(const analyzer::Analysis& analysis) {
  return tableOf(analyzer::reportTable(analysis, "causes"), "ns");
}

TableData leakTable(const analyzer::MemoryStats& memory) {
  const auto& rows = memory.leaked;
  return {texts(Tables::tr("Tensor"), rows,
                [](const auto& r) {
                  return r.tensor.empty() ? Tables::tr("(unnamed)") : words(r.tensor);
                }),
          texts(Tables::tr("Operator"), rows, [](const auto& r) { return words(r.op); }),
          texts(Tables::tr("Role"), rows,
                [](const auto& r) { return words(analyzer::roleWords(r.role)); }),
          numbers(Tables::tr("Grows per step"), Kind::Bytes, rows,
                  [](const auto& r) { return r.bytes; })};
}

TableData peakEditTable(const std::vector<analyzer::PeakEdit>& edits) {
  static constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
  TableColumn cost = numbers(Tables::tr("Costs a step"), Kind::Duration, edits, [](const auto& r) {
    return r.costNsPerStep < 0 ? kNotKnown : static_cast<double>(r.costNsPerStep);
  });
  for (const auto& row : edits) {
    cost.texts.push_back(row.costNsPerStep == 0  ? Tables::tr("nothing")
                         : row.costNsPerStep < 0 ? Tables::tr("not known")
                                                 : QString());
  }
  return {texts(Tables::tr("Held by"), edits, [](const auto& r) { return words(r.origin); }),
          texts(Tables::tr("Edit"), edits,
                [](const auto& r) {
                  return r.kind == analyzer::PeakEditKind::Recompute ? Tables::tr("recompute")
                                                                     : Tables::tr("free earlier");
                }),
          numbers(Tables::tr("Saves"), Kind::Bytes, edits, [](const auto& r) { return r.bytes; }),
          std::move(cost),
          numbers(Tables::tr("Peak then"), Kind::Bytes, edits,
                  [](const auto& r) { return r.peakAfterBytes; }),
          numbers(Tables::tr("Blocks"), Kind::Count, edits, [](const auto& r) { return r.count; }),
          texts(Tables::tr("Why"), edits, [](const auto& r) { return words(r.why); })};
}

TableData allocatorTable(const analyzer::Analysis& analysis) {
  static const char* const kFigures[] = {
      QT_TRANSLATE_NOOP("Tables", "peak of what is alive"),
      QT_TRANSLATE_NOOP("Tables", "most reserved from the device"),
      QT_TRANSLATE_NOOP("Tables", "took from the device"),
      QT_TRANSLATE_NOOP("Tables", "held before that"),
      QT_TRANSLATE_NOOP("Tables", "alive in it"),
      QT_TRANSLATE_NOOP("Tables", "free in it"),
      QT_TRANSLATE_NOOP("Tables", "largest free piece"),
      QT_TRANSLATE_NOOP("Tables", "free pieces"),
      QT_TRANSLATE_NOOP("Tables", "segments"),
      QT_TRANSLATE_NOOP("Tables", "fragmentation")};
  TableColumn names{Tables::tr("When the allocator last had to grow"), Kind::Text};
  for (const char* figure : kFigures) names.texts.push_back(Tables::tr(figure));
  TableData table{std::move(names)};
  for (const analyzer::DeviceMemory& memory : analysis.of<analyzer::MemoryTables>().devices) {
    const analyzer::AllocatorState& state = memory.allocator;
    if (!state.present) continue;
    const auto device = std::find_if(analysis.devices.begin(), analysis.devices.end(),
                                     [&](const auto& d) { return d.id == memory.device; });
    TableColumn column{
        device == analysis.devices.end() ? Tables::tr("device") : words(device->label), Kind::Text};
    std::vector<FigureKey> keys;
    const auto add = [&](int unit, double size, const QString& text) {
      keys.emplace_back(unit, size);
      column.texts.push_back(text);
    };
    for (const std::uint64_t bytes :
         {memory.peakBytes, memory.reservedPeakBytes, state.requestedBytes, state.reservedBytes,
          state.liveBytes, state.freeBytes(), state.largestFreeBytes}) {
      add(0, static_cast<double>(bytes), bytesWords(bytes));
    }
    for (const std::uint64_t count : {state.freePieces, state.segments}) {
      add(1, static_cast<double>(count), QString::number(count));
    }
    add(2, state.fragmentation(), percentWords(state.fragmentation()));
    table.push_back(sortedBy(std::move(column), keys));
  }
  return table.size() > 1 ? table : TableData();
}

TableData areaTable(const Trace& trace, const analyzer::AreaStats& stats) {
  const auto& rows = stats.names;
  return {texts(Tables::tr("Name"), rows, [&](const auto& r) { return trace.name(r.name); }),
          numbers(Tables::tr("Count"), Kind::Count, rows, [](const auto& r) { return r.count; }),
          asBars(numbers(Tables::tr("Total"), Kind::Duration, rows,
                         [](const auto& r) { return r.totalNs; })),
          numbers(Tables::tr("Longest"), Kind::Duration, rows,
                  [](const auto& r) { return r.longestNs; })};
}

TableData momentTable(const Trace& trace, const analyzer::MemoryMoment& moment) {
  const auto& rows = moment.live;
  const prof::TimeNs zero = trace.tracks->span.startNs;
  const prof::TimeNs end = trace.tracks->span.endNs;
  return {texts(Tables::tr("Tensor"), rows,
                [](const auto& r) {
                  return r.tensor.tensor.empty() ? Tables::tr("(unnamed)") : words(r.tensor.tensor);
                }),
          texts(Tables::tr("Operator"), rows, [](const auto& r) { return words(r.tensor.op); }),
          texts(Tables::tr("Role"), rows,
                [](const auto& r) { return words(analyzer::roleWords(r.tensor.role)); }),
          asBars(numbers(Tables::tr("Size"), Kind::Bytes, rows,
                         [](const auto& r) { return r.tensor.bytes; })),
          numbers(Tables::tr("Since"), Kind::Duration, rows,
                  [&](const auto& r) { return r.tensor.allocatedNs - zero; }),
          numbers(Tables::tr("Lives"), Kind::Duration, rows, [&](const auto& r) {
            return r.freed ? r.lifetimeNs() : end - r.tensor.allocatedNs;
          })};
}

QString verdictWords(const analyzer::Comparison& row) {
  if (row.appeared()) return Tables::tr("new");
  if (row.vanished()) return Tables::tr("gone");
  const bool time = row.unit == "ns";
  if (row.worse()) return time ? Tables::tr("slower") : Tables::tr("more");
  if (row.better())
    return time               ? Tables::tr("faster")
           : row.unit.empty() ? Tables::tr("fewer")
                              : Tables::tr("less");
  return Tables::tr("same");
}

namespace {

TableColumn verdicts(const std::vector<analyzer::Comparison>& rows) {
  TableColumn column =
      texts(Tables::tr("Verdict"), rows, [](const auto& r) { return verdictWords(r); });
  for (const auto& row : rows) column.tones.push_back(row.worse() ? 1 : row.better() ? -1 : 0);
  return column;
}

QString figure(const analyzer::Comparison& row, double value) {
  if (row.unit == "ns") return durationWords(value);
  if (row.unit == "bytes") return bytesWords(value);
  return QString::number(value, 'f', 1);
}

QString withSign(const QString& size, double value) {
  return value > 0 ? QLatin1Char('+') + size : value < 0 ? QStringLiteral("−") + size : size;
}

/// Times first, then bytes, then counts: what one asks first.
int unitRank(const analyzer::Comparison& row) {
  return row.unit == "ns" ? 0 : row.unit == "bytes" ? 1 : 2;
}

/// Figures of several units as texts, which sort by unit and size.
template <class Size, class Show>
TableColumn figures(const QString& title, const std::vector<analyzer::Comparison>& rows,
                    Size&& sizeOf, Show&& show) {
  std::vector<FigureKey> keys;
  for (const auto& row : rows) keys.emplace_back(unitRank(row), sizeOf(row));
  return sortedBy(texts(title, rows, [&](const auto& r) { return show(r, sizeOf(r)); }), keys);
}

/// Numbers that sort, shown with their sign.
template <class Get, class Show>
TableColumn changes(const QString& title, Kind kind, const std::vector<analyzer::Comparison>& rows,
                    Get&& get, Show&& show) {
  TableColumn column = numbers(title, kind, rows, get);
  for (const auto& row : rows)
    column.texts.push_back(withSign(show(row, std::abs(get(row))), get(row)));
  return column;
}

double changeOf(const analyzer::Comparison& row) {
  return static_cast<double>(row.change());
}

TableColumn changeShares(const std::vector<analyzer::Comparison>& rows) {
  return changes(
      Tables::tr("Change in %"), Kind::Percent, rows,
      [](const auto& r) { return static_cast<double>(r.changeShare()); },
      [](const auto&, double share) { return percentWords(share); });
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
          asBars(numbers(Tables::tr("Before"), Kind::Duration, rows,
                         [](const auto& r) { return r.before; })),
          numbers(Tables::tr("After"), Kind::Duration, rows, [](const auto& r) { return r.after; }),
          changes(Tables::tr("Change"), Kind::Duration, rows, changeOf, figure),
          changeShares(rows),
          numbers(Tables::tr("Noise up to"), Kind::Duration, rows,
                  [](const auto& r) { return r.threshold; })};
}

TableData mixedComparisonTable(std::vector<analyzer::Comparison> rows, const QString& what) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return unitRank(a) < unitRank(b); });
  TableColumn names{what, Kind::Text};
  for (const auto& row : rows) names.texts.push_back(words(row.what));
  const auto before = [](const auto& r) { return r.before; };
  const auto after = [](const auto& r) { return r.after; };
  const auto noise = [](const auto& r) { return r.threshold; };
  const auto change = [](const auto& r, double by) {
    return withSign(figure(r, std::abs(by)), by);
  };
  return {names,
          verdicts(rows),
          figures(Tables::tr("Before"), rows, before, figure),
          figures(Tables::tr("After"), rows, after, figure),
          figures(Tables::tr("Change"), rows, changeOf, change),
          changeShares(rows),
          figures(Tables::tr("Noise up to"), rows, noise, figure)};
}

QString ledgerCsv(const analyzer::Analysis& analysis) {
  QStringList titles{QStringLiteral("step"), QStringLiteral("start_ns"), QStringLiteral("dur_ns")};
  for (std::size_t c = 0; c < analyzer::kCauseCount; ++c) {
    const std::string_view key = analyzer::causeKey(static_cast<analyzer::Cause>(c));
    titles << QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size())) +
                  QStringLiteral("_ns");
  }
  QStringList lines{titles.join(QLatin1Char(','))};
  const auto add = [&](const QString& step, std::int64_t startNs, std::int64_t durNs,
                       const analyzer::Ledger& ledger) {
    QStringList cells{step, QString::number(startNs), QString::number(durNs)};
    for (const std::int64_t ns : ledger.ns) cells << QString::number(ns);
    lines << cells.join(QLatin1Char(','));
  };
  add(QStringLiteral("all"), analysis.window.startNs,
      analysis.window.endNs - analysis.window.startNs, analysis.ledgers.run);
  const auto numbers = stepNumbers(analysis.steps.all);
  for (std::size_t i = 0; i < analysis.steps.all.size(); ++i) {
    const analyzer::Step& step = analysis.steps.all[i];
    add(QString::number(numbers[i]), step.startNs, step.durNs(), analysis.ledgers.steps[i]);
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace lacuna::gui
