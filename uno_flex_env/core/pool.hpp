// A pool of threads that share the games of a batch, one contiguous chunk each.
#pragma once

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace uno_flex_kernel {

class Pool {
public:
    /// std::runtime_error if the system starts no more threads; those that it has started have ended then.
    explicit Pool(int threads) : threads_(threads), errors_(size_t(threads)) {
        workers_.reserve(size_t(threads - 1));
        try {
            for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
        } catch (const std::system_error& error) {
            const std::string started = std::to_string(workers_.size() + 1);
            join();
            throw std::runtime_error("the system allows only " + started + " of " + std::to_string(threads) +
                                     " threads: " + error.what());
        } catch (...) {
            join();
            throw;
        }
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        if (forked()) {
            // A forked child has the objects but not the threads, so there is no thread to join.
            for (auto& worker : workers_) worker.detach();
            return;
        }
        join();
    }

    /// Call job(begin, end) on chunks that cover 0 to `items`; returns when all are done. What a job throws is thrown
    /// here, after all have ended. While this thread waits for the others it polls the interrupt, if there is one.
    template <class Job>
    void run(int items, Job&& job, Interrupt* interrupt = nullptr) {
        if (threads_ == 1 || forked()) return job(0, items);
        context_ = &job;
        task_ = [](void* context, int begin, int end) {
            (*static_cast<std::remove_reference_t<Job>*>(context))(begin, end);
        };
        items_ = items;
        pending_.store(threads_ - 1, std::memory_order_relaxed);
        post();
        attempt(0);
        while (pending_.load(std::memory_order_acquire) != 0) {
            if (interrupt) interrupt->poll();
            std::this_thread::yield();
        }
        for (auto& error : errors_)
            if (error) rethrow();
    }

    int threads() const { return threads_; }

private:
    static constexpr int kSpins = 2000;  // long enough that the next step usually comes before a worker sleeps

    int chunk(int i) const { return int(int64_t(items_) * i / threads_); }
    void attempt(int index) {
        try {
            task_(context_, chunk(index), chunk(index + 1));
        } catch (...) {
            errors_[size_t(index)] = std::current_exception();
        }
    }
    /// Throw the first error and forget all.
    void rethrow() {
        std::exception_ptr first;
        for (auto& error : errors_) {
            if (error && !first) first = error;
            error = nullptr;
        }
        std::rethrow_exception(first);
    }
    void post() {
        generation_.fetch_add(1, std::memory_order_release);
        generation_.notify_all();
    }
    void join() {
        task_ = nullptr;
        post();
        for (auto& worker : workers_) worker.join();
    }
    void work(int index) {
        for (unsigned seen = 0;;) {
            for (int i = 0; i < kSpins && generation_.load(std::memory_order_acquire) == seen; ++i)
                std::this_thread::yield();
            generation_.wait(seen, std::memory_order_acquire);
            ++seen;
            if (!task_) return;
            attempt(index);
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
    std::vector<std::exception_ptr> errors_;  // [thread]: what its chunk has thrown
    std::vector<std::thread> workers_;
};

}  // namespace uno_flex_kernel
