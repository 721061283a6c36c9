// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <algorithm>

#include "base/words.h"
#include "models/analysis_tables.h"
#include "views/memory_chart.h"
#include "views/memory_page.h"
#include "views/table_page.h"
#include "views/treemap_view.h"

/// The edits of the memory page that would bring the peak down.
namespace lacuna::gui {

namespace {

constexpr std::size_t kMostLifetimes = 64;
constexpr int kWhyColumn = 6;

QString editKeyOf(const analyzer::PeakEdit& edit) {
  return words(edit.origin) + QLatin1Char('\n') + words(edit.why);
}

}  // namespace

void MemoryPage::findEdits() {
  const auto only = device();
  if (!only) {
    editJob_.cancel();
    peakEdits_ = analysis_->of<analyzer::PeakEdits>();
    return fillEdits();
  }
  // The analysis has them of all devices together.
  editJob_.start(
      this,
      [analysis = analysis_, memory = stats(), only = *only](const Job::Wanted&) {
        auto edits = analyzer::peakEdits(memory, analysis->steps,
                                         analysis->of<analyzer::OperatorTables>().byName);
        analyzer::Selection one;
        one.everything = false;
        one.devices.insert(only);
        if (!analyzer::foreseePeaks(*analysis->store, analysis->window, analysis->steps, edits,
                                    one))
          edits.clear();
        return edits;
      },
      [this](const std::vector<analyzer::PeakEdit>& edits) {
        peakEdits_ = edits;
        fillEdits();
      });
}

void MemoryPage::fillEdits() {
  // A trace that grows is analysed again and again: what was selected stays so.
  const QString held = editKey_;
  filling_ = true;
  edits_->renewTable(peakEditTable(peakEdits_), kWhyColumn);
  for (std::size_t row = 0; row < peakEdits_.size(); ++row) {
    if (editKeyOf(peakEdits_[row]) == held) edits_->showSourceRow(row);
  }
  filling_ = false;
  showEdit();
}

const analyzer::PeakEdit* MemoryPage::selectedEdit() const {
  const QModelIndex row = edits_->table()->currentIndex();
  if (!analysis_ || pages_->currentWidget() != edits_ || !row.isValid()) return nullptr;
  const std::size_t edit = edits_->model()->sourceRow(row.row());
  return edit < peakEdits_.size() ? &peakEdits_[edit] : nullptr;
}

std::vector<prof::TimeWindow> MemoryPage::lifetimesOf(const analyzer::PeakEdit& edit) const {
  std::vector<prof::TimeWindow> out;
  for (const analyzer::LiveBlock& block : moment_->live) {
    if (!edit.concerns(block.tensor)) continue;
    out.push_back(
        {block.tensor.allocatedNs, block.freed ? block.freedNs : trace_->tracks->span.endNs});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.startNs < b.startNs; });
  return out;
}

void MemoryPage::showEdit() {
  const analyzer::PeakEdit* edit = selectedEdit();
  why_->setText(
      edit ? tr("%1 of %2: %3").arg(bytesWords(edit->bytes), words(edit->origin), words(edit->why))
           : QString());
  if (edit == nullptr || !moment_) {
    map_->setMarked({});
    return chart_->setForeseen({});
  }
  editKey_ = editKeyOf(*edit);
  std::vector<bool> marked;
  for (const analyzer::LiveBlock& block : moment_->live)
    marked.push_back(edit->concerns(block.tensor));
  map_->setMarked(std::move(marked));
  chart_->setForeseen(MemoryChart::Foreseen{edit->peakAfterBytes, lifetimesOf(*edit)});
}

void MemoryPage::showLifetimes() {
  const analyzer::PeakEdit* edit = selectedEdit();
  if (edit == nullptr || !moment_) return;
  std::vector<prof::TimeWindow> windows = lifetimesOf(*edit);
  if (windows.size() > kMostLifetimes) windows.resize(kMostLifetimes);
  if (windows.empty()) return;
  Q_EMIT desk_.stretchesWanted(
      windows, tr("held by %1 at the peak: %2").arg(words(edit->origin), bytesWords(edit->bytes)));
}

}  // namespace lacuna::gui
