// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/details_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <cstring>

#include "base/words.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/prof/amounts.h"
#include "timeline/text.h"

namespace lacuna::gui {

namespace {

/// "dynamicSharedBytes" reads "dynamic shared bytes"; units go with the value.
QString spaced(std::string_view name) {
  if (name == "durNs") name = "duration";
  if (name.ends_with("Ns")) name.remove_suffix(2);
  QString out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out += QLatin1Char(' ');
    out += QChar::fromLatin1(c).toLower();
  }
  return out;
}

/// The n-th of these words, or the number.
template <class Value>
QString nth(Value value, std::initializer_list<const char*> names) {
  const auto at = static_cast<std::size_t>(value);
  return at < names.size() ? QCoreApplication::translate("Details", names.begin()[at])
                           : QString::number(static_cast<unsigned>(value));
}
QString enumWords(prof::RangeKind v) {
  return nth(v, {"", QT_TRANSLATE_NOOP("Details", "started and ended anywhere")});
}
QString enumWords(prof::ApiKind v) {
  return nth(v, {QT_TRANSLATE_NOOP("Details", "runtime"), QT_TRANSLATE_NOOP("Details", "driver"),
                 QT_TRANSLATE_NOOP("Details", "other")});
}
QString enumWords(prof::CopyKind v) {
  return nth(
      v,
      {"", QT_TRANSLATE_NOOP("Details", "host to device"),
       QT_TRANSLATE_NOOP("Details", "device to host"),
       QT_TRANSLATE_NOOP("Details", "host to array"), QT_TRANSLATE_NOOP("Details", "array to host"),
       QT_TRANSLATE_NOOP("Details", "array to array"),
       QT_TRANSLATE_NOOP("Details", "array to device"),
       QT_TRANSLATE_NOOP("Details", "device to array"),
       QT_TRANSLATE_NOOP("Details", "device to device"),
       QT_TRANSLATE_NOOP("Details", "host to host"), QT_TRANSLATE_NOOP("Details", "peer to peer")});
}
QString enumWords(prof::MemoryKind v) {
  return nth(
      v, {"", QT_TRANSLATE_NOOP("Details", "pageable"), QT_TRANSLATE_NOOP("Details", "pinned"),
          QT_TRANSLATE_NOOP("Details", "device"), QT_TRANSLATE_NOOP("Details", "array"),
          QT_TRANSLATE_NOOP("Details", "managed"), QT_TRANSLATE_NOOP("Details", "device, static"),
          QT_TRANSLATE_NOOP("Details", "managed, static")});
}
/// The way the payload is stored is nothing to read.
QString enumWords(prof::PayloadType) {
  return {};
}

/// The name that a row of a small table has, or the number that the system knows it by.
template <class Row, class Id, class Number>
QString named(const Trace& trace, Id id, Number number) {
  if (!id) return {};
  for (std::uint64_t i = 0; i < trace.store->rows<Row>(); ++i) {
    const Row row = trace.store->row<Row>(i);
    if (row.id != id) continue;
    const QString name = trace.name(row.name);
    return name.isEmpty() ? QString::number(number(row)) : name;
  }
  return QString::number(id.value);
}

template <class Value>
QString valueOf(const Trace& trace, const prof::ColumnSpec& column, Value value) {
  if constexpr (std::is_same_v<Value, prof::StringId>) {
    return trace.name(value);
  } else if constexpr (std::is_same_v<Value, prof::ThreadId>) {
    return named<prof::Thread>(trace, value, [](const prof::Thread& row) { return row.osTid; });
  } else if constexpr (std::is_same_v<Value, prof::QueueId>) {
    return named<prof::Queue>(trace, value, [](const prof::Queue& row) { return row.nativeId; });
  } else if constexpr (std::is_same_v<Value, prof::ArgSetId>) {
    return {};  // argumentsOf() gives what they are
  } else if constexpr (std::is_same_v<Value, prof::DeviceId>) {
    return named<prof::Device>(trace, value, [](const prof::Device& row) { return row.index; });
  } else if constexpr (requires { value.value; }) {
    return value ? QString::number(value.value) : QString();
  } else if constexpr (std::is_enum_v<Value>) {
    return enumWords(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return QString::number(value);
  } else {
    if (column.hint == prof::Hint::Length) return QString::fromStdString(prof::timeText(value));
    if (column.hint == prof::Hint::Time) {
      return QString::fromStdString(momentText(value - trace.tracks->span.startNs, 1));
    }
    if (column.name.ends_with("ytes")) {
      return QString::fromStdString(prof::bytesText(value));
    }
    return value == 0 ? QString() : QString::number(value);
  }
}

template <class Row>
DetailRows describe(const Trace& trace, std::uint64_t at) {
  DetailRows rows;
  const Row row = trace.store->row<Row>(at);
  const prof::ColumnSpec* columns = prof::tableSpec<Row>().columns;
  std::size_t i = 0;
  Row::forEachMember([&]<auto Member>() {
    const prof::ColumnSpec& column = columns[i++];
    QString value = valueOf(trace, column, row.*Member);
    if (!value.isEmpty()) rows.emplace_back(spaced(column.name), std::move(value));
  });
  return rows;
}

prof::ArgSetId argSetOf(const analyzer::Store& store, const analyzer::EventRef& event) {
  using Table = analyzer::EventRef::Table;
  switch (event.table) {
    case Table::Range:
      return store.row<prof::Range>(event.row).args;
    case Table::ApiCall:
      return store.row<prof::ApiCall>(event.row).args;
    case Table::Kernel:
      return store.row<prof::Kernel>(event.row).args;
    case Table::Memcpy:
      return store.row<prof::Memcpy>(event.row).args;
    case Table::Memset:
      return store.row<prof::Memset>(event.row).args;
    case Table::Sync:
    case Table::None:
      break;
  }
  return {};
}

/// The operation that a communication kernel carries out, where the trace has it.
DetailRows collectiveOf(const Trace& trace, const analyzer::EventRef& event) {
  if (event.table != analyzer::EventRef::Table::Kernel) return {};
  const prof::TimeNs startNs = trace.store->row<prof::Kernel>(event.row).startNs;
  const auto list = analyzer::listCollectives(*trace.store, {startNs, startNs + 1});
  if (!list) return {};
  const auto found = std::ranges::find(list->calls, event.row, &analyzer::Collective::kernel);
  if (found == list->calls.end()) return {};
  DetailRows rows;
  const auto add = [&](const char* what, const QString& value) {
    if (!value.isEmpty()) rows.emplace_back(QCoreApplication::translate("Details", what), value);
  };
  const auto bytes = [](double count) {
    return count > 0 ? QString::fromStdString(prof::bytesText(count)) : QString();
  };
  const auto perSecond = [&](double count) {
    const auto lasts = static_cast<double>(found->endNs - found->startNs);
    return count > 0 && lasts > 0 ? QString::fromStdString(prof::rateText(count * 1e9 / lasts))
                                  : QString();
  };
  const analyzer::Communicator& among = list->communicatorOf(*found);
  add(QT_TRANSLATE_NOOP("Details", "communicator"), QString::fromStdString(among.name));
  add(QT_TRANSLATE_NOOP("Details", "ranks"),
      among.ranks > 0 ? QString::number(among.ranks) : QString());
  add(QT_TRANSLATE_NOOP("Details", "calls carried out"),
      found->calls > 0 ? QString::number(found->calls) : QString());
  add(QT_TRANSLATE_NOOP("Details", "bytes put in"),
      bytes(static_cast<double>(found->volume.bytes)));
  add(QT_TRANSLATE_NOOP("Details", "rate"),
      perSecond(static_cast<double>(found->volume.algorithmBytes)));
  add(QT_TRANSLATE_NOOP("Details", "bus rate"), perSecond(found->volume.busBytes));
  return rows;
}

}  // namespace

DetailRows argumentsOf(const Trace& trace, const analyzer::EventRef& event) {
  constexpr QChar kHeld = QLatin1Char('+');  // before the name, in a shape
  DetailRows rows = collectiveOf(trace, event);
  const prof::ArgSetId set = argSetOf(*trace.store, event);
  if (!set) return rows;
  const analyzer::Args& args = trace.args();
  for (const QString& line :
       words(trace.store->wholeText(args.shape(set))).split(QLatin1Char('\n'))) {
    if (!line.startsWith(kHeld)) continue;
    const std::string key = line.mid(1).toStdString();
    const auto value = args.find(set, key);
    if (!value || value->type == prof::ArgType::Null) continue;
    std::string text;
    if (const auto words = args.text(set, key)) {
      text = *words;
    } else {
      args.appendJson(*value, text);
    }
    if (!text.empty()) rows.emplace_back(line.mid(1), QString::fromStdString(text));
  }
  return rows;
}

void DetailsModel::append(const DetailRows& rows) {
  if (rows.empty()) return;
  const int before = rowCount();
  beginInsertRows({}, before, before + static_cast<int>(rows.size()) - 1);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  endInsertRows();
}

void DetailsModel::clear() {
  beginResetModel();
  rows_.clear();
  endResetModel();
}

void DetailsModel::show(const TracePtr& trace, const analyzer::EventRef& event) {
  using Table = analyzer::EventRef::Table;
  beginResetModel();
  rows_.clear();
  switch (event.table) {
    case Table::Range:
      rows_ = describe<prof::Range>(*trace, event.row);
      break;
    case Table::ApiCall:
      rows_ = describe<prof::ApiCall>(*trace, event.row);
      break;
    case Table::Kernel:
      rows_ = describe<prof::Kernel>(*trace, event.row);
      break;
    case Table::Memcpy:
      rows_ = describe<prof::Memcpy>(*trace, event.row);
      break;
    case Table::Memset:
      rows_ = describe<prof::Memset>(*trace, event.row);
      break;
    case Table::Sync:
    case Table::None:
      break;
  }
  endResetModel();
}

int DetailsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int DetailsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 2;
}

QVariant DetailsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto& [key, value] = rows_[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return index.column() == 0 ? key : value;
  if (role == Qt::ToolTipRole && index.column() == 1) return tipWords(value);
  return {};
}

QVariant DetailsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == 0 ? tr("Field") : tr("Value");
}

}  // namespace lacuna::gui
