// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QLineEdit>
#include <functional>
#include <initializer_list>
#include <utility>

#include "views/timeline_page.h"

/// The timeline's commands, for menus and palette.
namespace lacuna::gui {

namespace {

using TimelineCommand = std::pair<QString, std::function<void()>>;

void addCommands(std::vector<Command>& to, Command::Place place,
                 std::initializer_list<TimelineCommand> commands) {
  for (const auto& [text, act] : commands) to.push_back({.place = place, .text = text, .act = act});
}

}  // namespace

/// Keys that the timeline takes itself, with or without Ctrl, stand after a tab: a menu shows them
/// and claims none.
std::vector<Command> TimelinePage::goCommands() {
  TimelineView* view = view_;
  std::vector<Command> out{{.place = Command::Place::GoMenu,
                            .text = tr("&Find events…"),
                            .act =
                                [this] {
                                  search()->setFocus();
                                  search()->selectAll();
                                },
                            .keys = QKeySequence::Find}};
  addCommands(out, Command::Place::GoMenu,
              {{tr("&Whole trace\tHome"), [view] { view->fit(); }},
               {tr("&End of the trace\tEnd"), [view] { view->toEnd(); }},
               {tr("&Zoom to the selection\tF"), [view] { view->zoomToSelection(); }},
               {tr("&Back\tAlt+←"), [view] { view->back(); }},
               {tr("F&orward\tAlt+→"), [view] { view->forward(); }},
               {tr("Between &launch and kernel\tL"), [this] { followLink(); }},
               {tr("Show or fold counters at &zero"), [view] { view->toggleQuiet(); }},
               {tr("Set or clear a book&mark\tB"), [this] { toggleBookmark(); }},
               {tr("Write a &note on a bookmark…\tN"), [this] { askForNote(); }},
               {tr("Ne&xt bookmark\tJ"), [view] { view->jumpToBookmark(1); }},
               {tr("Pre&vious bookmark\tShift+J"), [view] { view->jumpToBookmark(-1); }}});
  return out;
}

std::vector<Command> TimelinePage::commands() {
  TimelineView* view = view_;
  std::vector<Command> out = goCommands();
  addCommands(
      out, Command::Place::Palette,
      {{tr("Timeline: next event found\tEnter"), [this] { findNext(true); }},
       {tr("Timeline: previous event found\tShift+Enter"), [this] { findNext(false); }},
       {tr("Timeline: filter tracks…\t/"), [view] { Q_EMIT view->filterWanted(); }},
       {tr("Timeline: the row above\tAlt+↑"), [view] { view->moveRow(-1); }},
       {tr("Timeline: the row below\tAlt+↓"), [view] { view->moveRow(1); }},
       {tr("Timeline: collapse or open the row\tC"), [view] { view->toggleCurrentRow(false); }},
       {tr("Timeline: collapse or open all groups\tShift+C"), [view] { view->toggleAllGroups(); }},
       {tr("Timeline: pin the row, or not\tP"), [view] { view->toggleCurrentRow(true); }},
       {tr("Timeline: select a stretch, later\tShift+→"), [view] { view->extendArea(1); }},
       {tr("Timeline: select a stretch, earlier\tShift+←"), [view] { view->extendArea(-1); }},
       {tr("Timeline: measure from the selected event, or no longer\tM"),
        [view] { view->measure(); }},
       {tr("Timeline: forget the selection\tEsc"), [view] { view->clearSelection(); }}});
  return out;
}

}  // namespace lacuna::gui
