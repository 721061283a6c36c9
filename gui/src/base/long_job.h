// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMetaObject>
#include <QObject>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace lacuna::gui {

/// Work that takes long, on a thread of its own and one piece at a time. Starting another, or
/// destroying the job, abandons the one before: who starts never waits for its end, only the work
/// that follows does, and the destructor.
class LongJob {
 public:
  /// The handle that work goes by.
  class Turn {
   public:
    /// False once the work is abandoned. May be called from any thread.
    [[nodiscard]] bool wanted() const { return !*stop_; }
    /// Calls deliver() on the owner's thread, unless the work has been abandoned by then.
    template <class Deliver>
    void post(Deliver deliver) const {
      QMetaObject::invokeMethod(
          owner_,
          [stop = stop_, deliver = std::move(deliver)]() mutable {
            if (!*stop) deliver();
          },
          Qt::QueuedConnection);
    }
    /// A function that the work calls to report how far it is: 0 … 1, and any further values.
    /// `report` gets each percent once, as by post(). Answers wanted().
    template <class Report>
    [[nodiscard]] auto progress(Report report) const {
      return [turn = *this, report = std::move(report), reported = -1](
                 double share, const auto&... more) mutable {
        const int percent = static_cast<int>(share * 100);
        if (percent != reported) turn.post([report, share, more...] { report(share, more...); });
        reported = percent;
        return turn.wanted();
      };
    }

   private:
    friend class LongJob;
    Turn(QObject* owner, std::shared_ptr<const std::atomic<bool>> stop)
        : owner_(owner), stop_(std::move(stop)) {}
    QObject* owner_;
    std::shared_ptr<const std::atomic<bool>> stop_;
  };

  /// The job is a member of `owner`.
  explicit LongJob(QObject* owner) : owner_(owner) {}
  ~LongJob() {
    cancel();
    if (thread_.joinable()) thread_.join();
  }
  LongJob(const LongJob&) = delete;
  LongJob& operator=(const LongJob&) = delete;

  /// work(turn) runs on the thread.
  template <class Work>
  void start(Work work) {
    cancel();
    stop_ = std::make_shared<std::atomic<bool>>(false);
    thread_ = std::thread([before = std::move(thread_), turn = Turn(owner_, stop_),
                           work = std::move(work)]() mutable {
      if (before.joinable()) before.join();
      if (turn.wanted()) work(turn);
    });
  }
  void cancel() {
    if (stop_) *stop_ = true;
  }

 private:
  QObject* owner_;
  std::shared_ptr<std::atomic<bool>> stop_;
  std::thread thread_;
};

}  // namespace lacuna::gui
