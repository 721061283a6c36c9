// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <QString>
#include <optional>

#include "lacuna/prof/reader.h"

class QCommandLineParser;

namespace lacuna::gui {

class MainWindow;

/// The requests of the command line.
struct StartRequest {
  QString file;
  QString second;  ///< to compare with
  QString screenshot;
  bool force = false;  ///< the picture may replace a file
  QString page;
  QString select;
  QString tab;                            ///< of the memory page
  QString play;                           ///< a change for the overview's what-if
  int finding = 0;                        ///< counted from 1: shown on the timeline
  std::optional<prof::TimeWindow> range;  ///< since the trace's start
  QSize size;                             ///< invalid: not asked for
  double scale = 1;
  std::optional<bool> dark;
};

/// False with a sentence in `problem` when an option makes no sense.
bool readRequest(const QCommandLineParser& parser, StartRequest& request, QString& problem);
/// The same for what the window has, as pages.
bool checkRequest(const MainWindow& window, const StartRequest& request, QString& problem);
/// "120ms:1.5s", units ns, us, ms (the default) and s.
std::optional<prof::TimeWindow> parseRange(const QString& text);
/// Opens, arranges, writes the picture; the exit status. Nothing of it is remembered.
int takeScreenshot(MainWindow& window, const StartRequest& request);
/// Opens, and arranges as asked once the trace is there.
void startInteractive(MainWindow& window, const StartRequest& request);

}  // namespace lacuna::gui
