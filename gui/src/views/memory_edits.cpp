// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_edits.h"

#include <QItemSelectionModel>
#include <QLabel>
#include <QTableView>
#include <utility>

#include "base/words.h"
#include "models/analysis_tables.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

constexpr int kWhyColumn = 6;

QString editKeyOf(const analyzer::PeakEdit& edit) {
  return words(edit.origin) + QLatin1Char('\n') + words(edit.why);
}

/// The analysis has the edits of all devices together.
std::vector<analyzer::PeakEdit> editsOf(const analyzer::Analysis& analysis,
                                        const analyzer::MemoryStats& memory, prof::DeviceId only) {
  auto edits =
      analyzer::peakEdits(memory, analysis.steps, analysis.of<analyzer::OperatorTables>().byName);
  analyzer::Selection one;
  one.everything = false;
  one.devices.insert(only);
  if (!analyzer::foreseePeaks(*analysis.store, analysis.window, analysis.steps, edits, one))
    edits.clear();
  return edits;
}

}  // namespace

MemoryEdits::MemoryEdits(QWidget* parent)
    : TablePage({}, tr("Nothing at the peak could go earlier or be computed again."), parent),
      why_(label({}, "dim", this)) {
  setDetail(why_);
  connect(table()->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { Q_EMIT editSelected(!listing_); });
}

void MemoryEdits::clearEdits() {
  job_.cancel();
  key_.clear();
  all_.clear();
  setTable({});
}

void MemoryEdits::setAnalysis(const AnalysisPtr& analysis, const analyzer::MemoryStats& memory,
                              std::optional<prof::DeviceId> only) {
  if (!only) {
    job_.cancel();
    return list(analysis->of<analyzer::PeakEdits>());
  }
  job_.start(
      this,
      [analysis, memory, only = *only](const Job::Wanted&) {
        return editsOf(*analysis, memory, only);
      },
      [this](std::vector<analyzer::PeakEdit> edits) { list(std::move(edits)); });
}

void MemoryEdits::list(std::vector<analyzer::PeakEdit> edits) {
  all_ = std::move(edits);
  const QString held = key_;
  listing_ = true;
  renewTable(peakEditTable(all_), kWhyColumn);
  for (std::size_t row = 0; row < all_.size(); ++row) {
    if (editKeyOf(all_[row]) == held) showSourceRow(row);
  }
  listing_ = false;
  Q_EMIT editSelected(false);
}

const analyzer::PeakEdit* MemoryEdits::selected() const {
  const QModelIndex row = table()->currentIndex();
  if (!row.isValid()) return nullptr;
  const std::size_t edit = model()->sourceRow(row.row());
  return edit < all_.size() ? &all_[edit] : nullptr;
}

void MemoryEdits::explain(const analyzer::PeakEdit* edit) {
  why_->setText(
      edit == nullptr
          ? QString()
          : tr("%1 of %2: %3").arg(bytesWords(edit->bytes), words(edit->origin), words(edit->why)));
  if (edit != nullptr) key_ = editKeyOf(*edit);
}

}  // namespace lacuna::gui
