// A pool of threads that share the games of a batch, one contiguous chunk each.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace uno_flex_kernel {

class Pool {
public:
    explicit Pool(int threads) : threads_(threads) {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        if (forked()) {
            // A forked child has the objects but not the threads, so there is no thread to join.
            for (auto& worker : workers_) worker.detach();
            return;
        }
        task_ = nullptr;
        post();
        for (auto& worker : workers_) worker.join();
    }

    /// Call job(begin, end) on chunks that cover 0 to `items`; returns when all are done. The job must not throw.
    template <class Job>
    void run(int items, Job&& job) {
        if (threads_ == 1 || forked()) return job(0, items);
        context_ = &job;
        task_ = [](void* context, int begin, int end) {
            (*static_cast<std::remove_reference_t<Job>*>(context))(begin, end);
        };
        items_ = items;
        pending_.store(threads_ - 1, std::memory_order_relaxed);
        post();
        job(chunk(0), chunk(1));
        while (pending_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    }

    int threads() const { return threads_; }

private:
    static constexpr int kSpins = 2000;  // long enough that the next step usually comes before a worker sleeps

    int chunk(int i) const { return int(int64_t(items_) * i / threads_); }
    void post() {
        generation_.fetch_add(1, std::memory_order_release);
        generation_.notify_all();
    }
    void work(int index) {
        for (unsigned seen = 0;;) {
            for (int i = 0; i < kSpins && generation_.load(std::memory_order_acquire) == seen; ++i)
                std::this_thread::yield();
            generation_.wait(seen, std::memory_order_acquire);
            ++seen;
            if (!task_) return;
            task_(context_, chunk(index), chunk(index + 1));
            pending_.fetch_sub(1, std::memory_order_release);
        }
    }
#if defined(_WIN32)
    bool forked() const { return false; }
#else
    bool forked() const { return getpid() != owner_; }
    const pid_t owner_ = getpid();
#endif

    const int threads_;
    int items_ = 0;
    void* context_ = nullptr;
    void (*task_)(void*, int, int) = nullptr;
    std::atomic<unsigned> generation_{0};
    std::atomic<int> pending_{0};
    std::vector<std::thread> workers_;
};

}  // namespace uno_flex_kernel
