// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <functional>

#include "base/long_job.h"
#include "base/trace.h"

namespace lacuna::gui {

/// Where stores come from.
using StoreOpener = std::function<prof::Result<std::shared_ptr<const analyzer::Store>>(
    const std::filesystem::path&, const analyzer::OpenOptions&)>;
/// Opens a trace and lays it out. progress(share, stage) may come from any thread; answering false
/// cancels.
prof::Result<TracePtr> loadTrace(const StoreOpener& opener, const QString& path,
                                 const std::function<bool(double, const QString&)>& progress);

TracePtr makeTrace(const QString& path, std::shared_ptr<const analyzer::Store> store,
                   std::shared_ptr<const analyzer::TrackSet> tracks, qint64 fileBytes);

/// Opens traces on a thread of its own, one at a time: open() abandons the one under way, and so
/// does cancel(), after which only the end of that one is signalled. Signals arrive on the thread
/// that the loader lives on.
class Loader : public QObject {
  Q_OBJECT

 public:
  using Opener = StoreOpener;

  explicit Loader(QObject* parent = nullptr);
  ~Loader() override;

  /// Where stores come from: Store::open unless set otherwise.
  void setOpener(Opener opener) { opener_ = std::move(opener); }
  void open(const QString& path);
  void cancel();
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  void progressed(double share, const QString& stage);
  void opened(const lacuna::gui::TracePtr& trace);
  void failed(const QString& path, const QString& message);
  void cancelled(const QString& path);

 private:
  Opener opener_ = &analyzer::Store::open;
  std::atomic<bool> leaving_ = false;
  QThreadPool keepers_;  ///< keep tracks for the next time, one after the other, while other traces
                         ///< are opened
  bool busy_ = false;
  QString path_;  ///< that is being opened
  LongJob job_{this};
};

}  // namespace lacuna::gui
