// Stopping long work: the kernels look at an Interrupt now and then and return early when it says so.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace uno_flex_kernel {

class Interrupt {
public:
    enum class Answer { go_on, stop, never };  // never: don't ask again, nothing can stop this thread

    /// `ask` is called by the thread that makes this object, at most every 50 milliseconds.
    explicit Interrupt(Answer (*ask)()) : ask_(ask) {}

    /// Whether to stop. Any thread that shares the work may call it. It reads a clock, so call it every few microseconds
    /// at most.
    bool poll() {
        if (stopped()) return true;
        if (std::this_thread::get_id() != owner_) return false;
        const auto now = Clock::now();
        if (now < next_) return false;
        next_ = now + std::chrono::milliseconds(50);
        const Answer answer = ask_();
        if (answer == Answer::never) next_ = Clock::time_point::max();
        if (answer == Answer::stop) stopped_.store(true, std::memory_order_relaxed);
        return answer == Answer::stop;
    }
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

private:
    using Clock = std::chrono::steady_clock;

    Answer (*const ask_)();
    const std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(50);
    std::atomic<bool> stopped_{false};
};

}  // namespace uno_flex_kernel
