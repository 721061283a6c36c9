// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTimer>
#include <functional>

#include "base/desk.h"
#include "base/job.h"
#include "base/long_job.h"
#include "base/page.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/links.h"
#include "views/timeline_view.h"

class QLabel;
class QLineEdit;
class QSplitter;
class QTableView;

namespace lacuna::gui {

class DetailsModel;
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
  [[nodiscard]] DetailsModel* details() const { return details_; }
  [[nodiscard]] TableModel* sums() const { return sums_; }
  [[nodiscard]] QLineEdit* search() const { return search_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] QString searchResult() const;
  using CountMatches = std::function<std::uint64_t(
      const analyzer::TrackSet&, const analyzer::NameMatches&, const analyzer::Progress&)>;
  /// The function that counts the events found: analyzer::countMatches unless set otherwise.
  void setCountMatches(CountMatches count) { countMatches_ = std::move(count); }
  [[nodiscard]] bool busy() const override {
    return launching_ || linkJob_.busy() || argumentJob_.busy() || searching_ || findJob_.busy();
  }

  /// Shows stretches with a caption, and moves to the first.
  void showEvidence(const std::vector<prof::TimeWindow>& windows, const QString& caption);
  /// The same for a finding, which stays beside the picture with its fix and its gain until it is
  /// closed. A moment is shown with the step that it lies in.
  void showFinding(const analyzer::Finding& finding, const analyzer::Analysis& analysis);
  [[nodiscard]] FindingPanel* finding() const { return finding_; }
  /// Looks for the next event whose name contains the searched text, off the GUI's thread, and
  /// selects it.
  void findNext(bool forward);
  /// Finds out what matches, on a thread of its own, and reports how far that is; calls off the
  /// search before.
  void searchFor(const QString& text);
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
  void showSelection();
  /// Gives names of details the room that they need, and values at least half.
  void fitDetails();
  void showArea();
  void findLinks(const analyzer::EventRef& event);
  /// Computes the links of the trace, once, and goes on with the event that is selected then.
  void computeLinks();
  void callLinksOff();
  using Matches = std::shared_ptr<const analyzer::NameMatches>;
  void callSearchOff();
  void showFound(const Matches& names, std::uint64_t events);
  /// Sets the text below the search.
  void setFound(const QString& what);
  /// To the next event of those that are known to match.
  void goToMatch(bool forward);
  void findArguments(const analyzer::EventRef& event);
  void showSums(const analyzer::AreaStats& stats);
  QWidget* makeSide(QWidget* parent);
  /// The mark that a hand pointing at `at` means, or the end.
  std::vector<Bookmark>::iterator near(std::vector<Bookmark>& marks, prof::TimeNs at) const;

  Desk& desk_;
  QSplitter* split_;
  TimelineView* view_;
  DetailsModel* details_;
  QTableView* table_;
  QLabel* title_;
  QLabel* hint_;
  QLineEdit* filter_;
  QLineEdit* search_;
  QLabel* found_;
  QLabel* areaTitle_;
  FindingPanel* finding_;
  TableModel* sums_;
  QTableView* sumsTable_;
  prof::TimeWindow summed_;
  int mostCsvRows_ = 200'000;
  QTimer areaTimer_;
  TracePtr launching_;                               ///< whose links are being computed
  std::optional<analyzer::EventRef> wantedLinksOf_;  ///< as soon as they are
  LongJob launchJob_{this};
  Job linkJob_;
  Job argumentJob_;
  Matches matches_;
  std::weak_ptr<const Trace> searched_;  ///< what they were looked for in
  std::optional<bool> wantedNext_;
  CountMatches countMatches_ = &analyzer::countMatches;
  bool searching_ = false;
  LongJob searchJob_{this};
  Job findJob_;
  Job areaJob_;
};

}  // namespace lacuna::gui
