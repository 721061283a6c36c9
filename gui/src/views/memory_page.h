// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/desk.h"
#include "base/job.h"
#include "base/page.h"
#include "lacuna/analyzer/memory.h"
#include "models/table_model.h"

class QComboBox;
class QLabel;

namespace lacuna::gui {

class MemoryChart;
class MemoryDevices;
class MemoryHeading;
class MemoryLists;
class TablePage;
class TreemapView;

/// Memory of a device over time and what is alive at the cursor (at the peak until one is set),
/// what leaks, and what would help. With several devices, it shows the one with the highest peak
/// until another is chosen.
class MemoryPage : public Page {
  Q_OBJECT

 public:
  explicit MemoryPage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  void setGrown(const TracePtr& trace) override;
  void setFindings(const Findings& findings) override;
  void setDark(bool dark) override;
  /// The same cursor as the timeline's.
  void setCursorMark(prof::TimeNs timeNs);
  [[nodiscard]] TablePage* live() const;
  [[nodiscard]] TablePage* leaks() const;
  /// The edits that would bring the peak down. The selected edit's blocks stand out in the areas
  /// and on the curve.
  [[nodiscard]] TablePage* edits() const;
  [[nodiscard]] TablePage* allocator() const;
  /// The list of the tab in front.
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] std::vector<Command> commands() override;
  /// "alive", "edits", "allocator", "leaks" or "advice".
  bool showTab(const QString& name);
  [[nodiscard]] QStringList tabNames() const;
  [[nodiscard]] MemoryChart* chart() const { return chart_; }
  [[nodiscard]] TreemapView* map() const { return map_; }
  [[nodiscard]] const std::shared_ptr<const analyzer::MemoryMoment>& moment() const {
    return moment_;
  }
  /// The choice of the device whose memory is shown, where there are several.
  [[nodiscard]] QComboBox* devices() const;
  /// The edits that would bring down the peak of the device that is shown.
  [[nodiscard]] const std::vector<analyzer::PeakEdit>& peakEdits() const;
  [[nodiscard]] bool busy() const override;

 Q_SIGNALS:
  void momentShown();

 private:
  QLayout* makeTitle();
  QWidget* makeBody();
  QWidget* makeLower(QWidget* parent);
  void showPresence();
  /// The figures of the device that is chosen.
  void showDevice();
  void showAt(prof::TimeNs timeNs);
  /// Shows the surroundings of a moment on the timeline.
  void showOnTimeline(prof::TimeNs timeNs);
  /// The page with the cursor at the peak, where memory was recorded.
  void showPeak();
  /// Sets the cursor to the peak of the device that is shown, on other pages too.
  void pickPeak();
  /// `live`: the table of what is alive then.
  void showMoment(TableData live);
  void showFacts();
  /// Marks the blocks of the selected edit.
  void showEdit();
  [[nodiscard]] const analyzer::PeakEdit* selectedEdit() const;
  [[nodiscard]] std::vector<prof::TimeWindow> lifetimesOf(const analyzer::PeakEdit& edit) const;
  void showLifetimes();

  Desk& desk_;
  TracePtr trace_;
  AnalysisPtr analysis_;
  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  QLabel* facts_;
  MemoryDevices* devices_;
  QLabel* empty_;
  QWidget* body_;
  MemoryChart* chart_;
  MemoryHeading* heading_;
  TreemapView* map_;
  MemoryLists* lists_;
  Job job_;
};

}  // namespace lacuna::gui
