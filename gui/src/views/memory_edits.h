// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/findings.h"
#include "base/job.h"
#include "lacuna/analyzer/memory.h"
#include "views/table_page.h"

class QLabel;

namespace lacuna::gui {

/// The edits that would bring the peak of memory down, and the reason for the selected one below
/// them. A selected edit stays so where a trace that grows is analysed again.
class MemoryEdits : public TablePage {
  Q_OBJECT

 public:
  explicit MemoryEdits(QWidget* parent);
  /// No trace: nothing is listed, and the selection is forgotten.
  void clearEdits();
  /// The edits of one device, or of all together; those of one device are found off the GUI's
  /// thread.
  void setAnalysis(const AnalysisPtr& analysis, const analyzer::MemoryStats& memory,
                   std::optional<prof::DeviceId> only);
  [[nodiscard]] const std::vector<analyzer::PeakEdit>& edits() const { return all_; }
  /// Null while none is selected.
  [[nodiscard]] const analyzer::PeakEdit* selected() const;
  /// Shows the reason for `edit`, which stays selected from now on; null: for none.
  void explain(const analyzer::PeakEdit* edit);
  [[nodiscard]] bool busy() const override { return job_.busy(); }

 Q_SIGNALS:
  /// `byHand`: by the user, and not since other edits are listed.
  void editSelected(bool byHand);

 private:
  void list(std::vector<analyzer::PeakEdit> edits);

  std::vector<analyzer::PeakEdit> all_;
  QLabel* why_;
  QString key_;  ///< of the edit that was selected last
  bool listing_ = false;
  Job job_;
};

}  // namespace lacuna::gui
