// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_devices.h"

#include <QPainter>
#include <algorithm>
#include <span>

#include "base/words.h"

namespace lacuna::gui {

MemoryDevices::MemoryDevices(QWidget* parent) : QComboBox(parent) {
  setAccessibleName(tr("Device"));
  setToolTip(tr("Whose memory"));
  connect(this, &QComboBox::activated, this, [this] {
    wanted_ = device();
    Q_EMIT chosen();
  });
}

void MemoryDevices::clearChoice() {
  wanted_.reset();
  setAnalysis(nullptr, nullptr);
}

void MemoryDevices::setAnalysis(const TracePtr& trace, const AnalysisPtr& analysis) {
  analysis_ = analysis;
  clear();
  const bool several = analysis_ && !analysis_->of<analyzer::MemoryTables>().byDevice.empty();
  setVisible(several);
  if (several) fill(trace);
}

void MemoryDevices::fill(const TracePtr& trace) {
  const auto& tables = analysis_->of<analyzer::MemoryTables>();
  const std::span all(tables.devices.data(), tables.byDevice.size());
  for (const analyzer::DeviceMemory& memory : all) addItem(nameOf(trace, memory.device));
  const auto wanted =
      std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.device == wanted_; });
  const auto largest = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.peakBytes < b.peakBytes;
  });
  setCurrentIndex(static_cast<int>((wanted != all.end() ? wanted : largest) - all.begin()));
}

QString MemoryDevices::nameOf(const TracePtr& trace, prof::DeviceId device) const {
  const auto account = std::find_if(analysis_->devices.begin(), analysis_->devices.end(),
                                    [&](const auto& d) { return d.id == device; });
  if (account != analysis_->devices.end()) {
    const QString name = words(account->label);
    return account->rank < 0 ? name : tr("%1 · rank %2").arg(name).arg(account->rank);
  }
  for (const analyzer::TrackGroup& group : trace->tracks->groups) {
    if (group.isDevice && group.device == device && device) return words(group.label);
  }
  return tr("host");
}

std::optional<prof::DeviceId> MemoryDevices::device() const {
  const int chosen = currentIndex();
  if (chosen < 0) return std::nullopt;
  return analysis_->of<analyzer::MemoryTables>().devices[static_cast<std::size_t>(chosen)].device;
}

const analyzer::MemoryStats& MemoryDevices::stats() const {
  const int chosen = currentIndex();
  const auto& tables = analysis_->of<analyzer::MemoryTables>();
  return chosen < 0 ? tables.all : tables.byDevice[static_cast<std::size_t>(chosen)];
}

/// The style's own arrow is gone with its frame.
void MemoryDevices::paintEvent(QPaintEvent* event) {
  QComboBox::paintEvent(event);
  QPainter(this).drawText(rect().adjusted(0, 0, -9, 0), Qt::AlignRight | Qt::AlignVCenter,
                          QStringLiteral("▾"));
}

}  // namespace lacuna::gui
