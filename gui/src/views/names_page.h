// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "views/table_page.h"

namespace lacuna::gui {

class HistogramView;

/// A table of names of events. Below it, the durations of the events of the selected name.
class NamesPage : public TablePage {
  Q_OBJECT

 public:
  void setTrace(const TracePtr& trace) override;
  void setGrown(const TracePtr& trace) override;
  void setFindings(const Findings& findings) override;
  void setDark(bool dark) override;

 protected:
  /// `kind` is the kind of tracks that the events lie in.
  NamesPage(analyzer::TrackKind kind, const QString& title, const QString& empty, Desk& desk,
            QWidget* parent);
  [[nodiscard]] virtual TableData tableOf(const analyzer::Analysis& analysis) const = 0;
  /// Shows the table of the analysis anew.
  void fill();

 private:
  HistogramView* times_;
  AnalysisPtr analysis_;
};

}  // namespace lacuna::gui
