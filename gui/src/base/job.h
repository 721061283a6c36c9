// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QMetaObject>
#include <QPointer>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace lacuna::gui {

/// One piece of work at a time on the thread pool; starting another, or destroying the job,
/// abandons the one before.
class Job {
 public:
  /// Answers false once the work is no longer wanted. May be called from any thread.
  using Wanted = std::function<bool()>;

  Job() = default;
  ~Job() { cancel(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// work(wanted) runs on the pool; done(result) follows on the GUI's thread, unless the work was
  /// abandoned or `context` is gone.
  template <class Work, class Done>
  void start(QObject* context, Work work, Done done) {
    cancel();
    auto stop = std::make_shared<std::atomic<bool>>(false);
    stop_ = stop;
    QThreadPool::globalInstance()->start([context = QPointer<QObject>(context), stop,
                                          work = std::move(work),
                                          done = std::move(done)]() mutable {
      if (*stop) return;
      auto result = work(Wanted([stop] { return !stop->load(); }));
      if (*stop) return;  // what nobody wants goes here, not on the thread that draws
      QMetaObject::invokeMethod(
          qApp, [context, stop, done = std::move(done), result = std::move(result)]() mutable {
            if (context && !stop->exchange(true)) done(std::move(result));
          });
    });
  }
  void cancel() {
    if (stop_) *stop_ = true;
  }
  [[nodiscard]] bool busy() const { return stop_ && !*stop_; }

 private:
  std::shared_ptr<std::atomic<bool>> stop_;
};

}  // namespace lacuna::gui
