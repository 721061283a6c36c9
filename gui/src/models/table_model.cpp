// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/table_model.h"

#include <QApplication>
#include <QColor>
#include <QPalette>
#include <QThreadPool>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/words.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "timeline/palette.h"
#include "timeline/text.h"

namespace lacuna::gui {

std::size_t rowsOf(const TableData& table) {
  if (table.empty()) return 0;
  return table[0].kind == TableColumn::Kind::Text ? table[0].texts.size() : table[0].numbers.size();
}

namespace {

bool keeps(const TableData& table, std::size_t row, const QString& filter) {
  return std::any_of(table.begin(), table.end(), [&](const TableColumn& column) {
    return column.kind == TableColumn::Kind::Text &&
           column.texts[row].contains(filter, Qt::CaseInsensitive);
  });
}

std::vector<std::uint32_t> sortedRows(const TableData& table, int column, Qt::SortOrder order) {
  std::vector<std::uint32_t> rows(rowsOf(table));
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  const TableColumn& by = table[static_cast<std::size_t>(column)];
  const bool up = order == Qt::AscendingOrder;
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (by.numbers.empty()) {
      const int compared = by.texts[a].compare(by.texts[b], Qt::CaseInsensitive);
      return up ? compared < 0 : compared > 0;
    }
    const double x = by.numbers[a];
    const double y = by.numbers[b];
    if (std::isnan(x) || std::isnan(y))
      return !std::isnan(x) && std::isnan(y);  // last, whichever way
    return up ? x < y : x > y;
  });
  return rows;
}

/// The rows that pass the filter, in the order of `sorted`, or as given without one.
std::vector<std::uint32_t> filteredRows(const TableData& table,
                                        const std::vector<std::uint32_t>* sorted,
                                        const QString& filter, const Job::Wanted& wanted) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t n = 0; n < rowsOf(table); ++n) {
    if (n % 4096 == 0 && !wanted()) break;
    const std::uint32_t row = sorted != nullptr ? (*sorted)[n] : n;
    if (keeps(table, row, filter)) rows.push_back(row);
  }
  return rows;
}

/// Giving back the memory of a large table takes the system many milliseconds: not on the thread
/// that draws.
void letGo(std::shared_ptr<const void> what) {
  if (what)
    QThreadPool::globalInstance()->start([gone = std::move(what)]() mutable { gone.reset(); });
}

}  // namespace

QString csvCell(const QString& text) {
  std::string out;
  analyzer::appendCsvText(out, text.toStdString());
  return QString::fromStdString(out);
}

TableModel::TableModel(QObject* parent)
    : QAbstractTableModel(parent), table_(std::make_shared<TableData>()) {}

TableModel::~TableModel() {
  for (auto* order : {&order_, &sorted_}) letGo(std::move(*order));
  letGo(std::move(table_));
}

void TableModel::replace(TableData table) {
  beginResetModel();
  auto before = std::exchange(table_, std::make_shared<const TableData>(std::move(table)));
  Order shown = std::exchange(order_, nullptr);
  Order sorted = std::exchange(sorted_, nullptr);
  known_ = std::min(rows(), kStretch);
  job_.cancel();
  wanted_ = sortedBy_ = {};
  const auto bars = std::find_if(table_->begin(), table_->end(),
                                 [](const TableColumn& column) { return column.bar; });
  barColumn_ = bars == table_->end() ? -1 : static_cast<int>(bars - table_->begin());
  longestBar_ = bars == table_->end() || bars->numbers.empty()
                    ? 0
                    : *std::max_element(bars->numbers.begin(), bars->numbers.end());
  endResetModel();
  letGo(std::move(before));
  letGo(std::move(shown));
  letGo(std::move(sorted));
}

void TableModel::setTable(TableData table) {
  replace(std::move(table));
  if (!filter_.isEmpty()) arrange();
}

void TableModel::renewTable(TableData table) {
  const Sorting by = wanted_;
  replace(std::move(table));
  if (by.column < columnCount()) wanted_ = by;
  if (rowsOf(*table_) > kAtOnce) return arrange();
  Arranged now = arrangedBy(*table_, wanted_, nullptr, filter_, [] { return true; });
  take(wanted_, now);
}

void TableModel::setFilter(const QString& text) {
  filter_ = text;
  arrange();
}

void TableModel::sort(int column, Qt::SortOrder order) {
  wanted_ = {column < columnCount() ? column : -1, order};
  arrange();
}

TableModel::Arranged TableModel::arrangedBy(const TableData& table, Sorting by, Order sorted,
                                            const QString& filter, const Job::Wanted& wanted) {
  if (by.column >= 0 && !sorted)
    sorted =
        std::make_shared<const std::vector<std::uint32_t>>(sortedRows(table, by.column, by.order));
  if (filter.isEmpty()) return {sorted, sorted};
  return {sorted, std::make_shared<const std::vector<std::uint32_t>>(
                      filteredRows(table, sorted.get(), filter, wanted))};
}

void TableModel::take(Sorting by, Arranged& arranged) {
  if (by.column >= 0) std::swap(sorted_, arranged.sorted);
  sortedBy_ = by;
  show(std::move(arranged.rows));
}

void TableModel::arrange() {
  job_.cancel();
  const bool asGiven = wanted_.column < 0;
  const bool isSorted = asGiven || (sorted_ && sortedBy_ == wanted_);
  if (filter_.isEmpty() && isSorted) return show(asGiven ? nullptr : sorted_);
  job_.start(
      this,
      [table = table_, filter = filter_, by = wanted_,
       sorted = isSorted && !asGiven ? sorted_ : nullptr](const Job::Wanted& wanted) mutable {
        Arranged now = arrangedBy(*table, by, std::move(sorted), filter, wanted);
        table.reset();
        return now;
      },
      [this, by = wanted_](Arranged now) {
        take(by, now);
        letGo(std::move(now.sorted));
        letGo(std::move(now.rows));
      });
}

void TableModel::show(Order order) {
  if (order != order_) {  // the same rows in the same places: a selection stays
    beginResetModel();
    Order before = std::exchange(order_, std::move(order));
    known_ = std::min(rows(), kStretch);
    endResetModel();
    letGo(std::move(before));
  }
  Q_EMIT arranged();
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(known_);
}

std::size_t TableModel::rows() const {
  return order_ ? order_->size() : rowsOf(*table_);
}

std::optional<int> TableModel::viewRow(std::size_t sourceRow) const {
  if (!order_)
    return sourceRow < rows() ? std::optional(static_cast<int>(sourceRow)) : std::nullopt;
  const auto at = std::find(order_->begin(), order_->end(), sourceRow);
  return at == order_->end() ? std::nullopt : std::optional(static_cast<int>(at - order_->begin()));
}

void TableModel::fetchUpTo(int row) {
  while (row >= rowCount() && canFetchMore({})) fetchMore({});
}

bool TableModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && known_ < rows();
}

void TableModel::fetchMore(const QModelIndex& parent) {
  if (!canFetchMore(parent)) return;
  const std::size_t more = std::min(kStretch, rows() - known_);
  beginInsertRows({}, static_cast<int>(known_), static_cast<int>(known_ + more) - 1);
  known_ += more;
  endInsertRows();
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_->size());
}

QString TableModel::shown(std::size_t row, int column) const {
  const TableColumn& of = (*table_)[static_cast<std::size_t>(column)];
  if (of.kind != TableColumn::Kind::Text && !of.texts.empty() && !of.texts[row].isEmpty())
    return of.texts[row];
  switch (of.kind) {
    case TableColumn::Kind::Text:
      return of.texts[row];
    case TableColumn::Kind::Duration:
      return QString::fromStdString(prof::timeText(of.numbers[row]));
    case TableColumn::Kind::Bytes:
      return QString::fromStdString(prof::bytesText(of.numbers[row]));
    case TableColumn::Kind::Count:
      return QString::number(of.numbers[row], 'f', 0);
    case TableColumn::Kind::Percent:
      return QString::fromStdString(prof::shareText(of.numbers[row]));
  }
  return {};
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const bool text =
      (*table_)[static_cast<std::size_t>(index.column())].kind == TableColumn::Kind::Text;
  if (role == Qt::DisplayRole) return shown(sourceRow(index.row()), index.column());
  if (role == Qt::ToolTipRole && text)
    return tipWords(shown(sourceRow(index.row()), index.column()));
  if (role == Qt::ToolTipRole || role == Qt::AccessibleDescriptionRole) {
    const auto& notes = (*table_)[static_cast<std::size_t>(index.column())].notes;
    if (notes.empty() || notes[sourceRow(index.row())].isEmpty()) return {};
    const QString& note = notes[sourceRow(index.row())];
    return role == Qt::ToolTipRole ? tipWords(note) : note;
  }
  if (role == kShareRole && index.column() == 0 && longestBar_ > 0) {
    const auto& numbers = (*table_)[static_cast<std::size_t>(barColumn_)].numbers;
    return numbers[sourceRow(index.row())] / longestBar_;
  }
  const auto& tones = (*table_)[static_cast<std::size_t>(index.column())].tones;
  if (role == Qt::ForegroundRole && !tones.empty()) {
    const auto tone = tones[sourceRow(index.row())];
    const Theme& t = theme(qApp->palette().color(QPalette::Window).lightness() < 128);
    if (tone != 0) return QColor::fromRgb(tone > 0 ? t.bad : t.good);
  }
  if (role == Qt::TextAlignmentRole &&
      (!text || (*table_)[static_cast<std::size_t>(index.column())].right))
    return int(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= columnCount()) return {};
  const TableColumn& column = (*table_)[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::TextAlignmentRole) {
    return int(
        (column.kind == TableColumn::Kind::Text && !column.right ? Qt::AlignLeft : Qt::AlignRight) |
        Qt::AlignVCenter);
  }
  return {};
}

namespace {

/// The figures of a column are in the base unit, which its title names.
QString csvTitle(const TableColumn& column) {
  switch (column.kind) {
    case TableColumn::Kind::Duration:
      return column.title + QStringLiteral(" (ns)");
    case TableColumn::Kind::Bytes:
      return column.title + QStringLiteral(" (bytes)");
    case TableColumn::Kind::Percent:
      return column.title.contains(QLatin1Char('%')) ? column.title
                                                     : column.title + QStringLiteral(" (%)");
    case TableColumn::Kind::Text:
    case TableColumn::Kind::Count:
      break;
  }
  return column.title;
}

QString csvFigure(const TableColumn& column, std::size_t row) {
  const double figure =
      column.kind == TableColumn::Kind::Percent ? 100 * column.numbers[row] : column.numbers[row];
  return std::isnan(figure) ? QString() : QString::number(figure, 'g', 15);
}

}  // namespace

QString TableModel::csv() const {
  QString out;
  for (int column = 0; column < columnCount(); ++column) {
    out += (column ? QStringLiteral(",") : QString()) +
           csvCell(csvTitle((*table_)[static_cast<std::size_t>(column)]));
  }
  out += QLatin1Char('\n');
  for (std::size_t n = 0; n < rows(); ++n) {
    const std::size_t row = sourceRow(static_cast<int>(n));
    for (int column = 0; column < columnCount(); ++column) {
      const TableColumn& of = (*table_)[static_cast<std::size_t>(column)];
      if (column > 0) out += QLatin1Char(',');
      out += of.kind == TableColumn::Kind::Text ? csvCell(of.texts[row]) : csvFigure(of, row);
    }
    out += QLatin1Char('\n');
  }
  return out;
}

}  // namespace lacuna::gui
