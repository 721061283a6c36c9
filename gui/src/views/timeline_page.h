// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "base/page.h"
#include "lacuna/analyzer/lanes.h"
#include "views/event_search.h"
#include "views/timeline_view.h"

class QLabel;
class QLineEdit;
class QSplitter;

namespace lacuna::gui {

class AreaSums;
class DetailsModel;
class EventDetails;
class EventLinks;
class FindingPanel;
class TableModel;

/// The timeline with its filter above and the details of the selected event beside it.
class TimelinePage : public Page {
  Q_OBJECT

 public:
  explicit TimelinePage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  /// A view that reached the end goes on reaching it.
  void setGrown(const TracePtr& trace) override;
  void setLedgers(const LedgerStrips& strips) override;
  void setDark(bool dark) override;
  [[nodiscard]] TimelineView* view() const { return view_; }
  [[nodiscard]] DetailsModel* details() const;
  [[nodiscard]] TableModel* sums() const;
  [[nodiscard]] QLineEdit* search() const { return search_->field(); }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] QString searchResult() const;
  /// The function that counts the events found: analyzer::countMatches unless set otherwise.
  void setCountMatches(EventSearch::CountMatches count) {
    search_->setCountMatches(std::move(count));
  }
  [[nodiscard]] bool busy() const override;

  /// Shows stretches with a caption, and moves to the first.
  void showEvidence(const std::vector<prof::TimeWindow>& windows, const QString& caption);
  /// The same for a finding, which stays beside the picture with its fix and its gain until it is
  /// closed. A moment is shown with the step that it lies in.
  void showFinding(const analyzer::Finding& finding, const analyzer::Analysis& analysis);
  [[nodiscard]] FindingPanel* finding() const { return finding_; }
  /// Selects the next event whose name contains the searched text.
  void findNext(bool forward) { search_->findNext(forward); }
  /// From a launch to its work, or back.
  void followLink();
  void toggleBookmark();
  /// Asks for the note of the bookmark nearest to the cursor, making one where there is none near.
  void askForNote();
  void setNote(prof::TimeNs timeNs, const QString& note);
  /// The events of the selected stretch, or of the stretch in view, in the lanes that are shown.
  [[nodiscard]] Figures figures() const override;
  /// A smaller limit of figures(), to see what happens at it.
  void setMostCsvRows(int rows) { mostCsvRows_ = rows; }
  [[nodiscard]] std::vector<Command> commands() override;
  /// The widths of the timeline and of the column beside it.
  void saveAppearance(QSettings& settings) const override;
  void restoreAppearance(const QSettings& settings) override;
  /// The stretch in view, bookmarks and notes, folded and pinned rows.
  void saveSession(QSettings& settings) const override;
  void restoreSession(const QSettings& settings) override;

 Q_SIGNALS:
  void sumsReady();
  /// The links of the selected event are known and drawn.
  void linksReady();
  /// It is known how many events match the search.
  void searched();

 private:
  /// Answers the requests of other pages, and passes on what happens here.
  void connectDesk();
  std::vector<Command> goCommands();
  void connectKeys();
  void connectFilter();
  void showSelection();
  /// Shown while neither an event nor a stretch is selected.
  void showHint();
  QWidget* makePicture(QWidget* parent);
  QWidget* makeSide(QWidget* parent);
  /// The mark that a hand pointing at `at` means, or the end.
  std::vector<Bookmark>::iterator near(std::vector<Bookmark>& marks, prof::TimeNs at) const;

  Desk& desk_;
  QSplitter* split_;
  TimelineView* view_;
  EventSearch* search_;
  QLineEdit* filter_;
  FindingPanel* finding_;
  EventDetails* details_;
  EventLinks* links_;
  AreaSums* sums_;
  QLabel* hint_;
  int mostCsvRows_ = 200'000;
};

}  // namespace lacuna::gui
