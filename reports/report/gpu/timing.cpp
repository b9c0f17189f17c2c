#include "timing.hpp"

#include "gate.hpp"
#include "statistics.hpp"

namespace detreduce::report::gpu {
namespace {

class Turns {
  public:
    Turns(const std::vector<Contender>& contenders, Pool& pool)
        : contenders_(contenders), pool_(pool), events_(contenders.size() + 1), seconds_(contenders.size()) {}

    void warm_up() {
        for (const Contender& c : contenders_) {
            c.launch(pool_.next(), stream_.get());
            c.launch(pool_.next(), stream_.get());
        }
        check(cudaStreamSynchronize(stream_.get()), "warm-up");
    }

    /// False: the gate gave up before everything was queued, and nothing was kept.
    [[nodiscard]] bool round(int number) {
        const std::vector<std::size_t> order = order_of_turns(contenders_.size(), number);
        gate_.close(stream_.get());
        record(0);
        for (std::size_t i = 0; i < order.size(); ++i) {
            contenders_[order[i]].launch(pool_.next(), stream_.get());
            record(i + 1);
        }
        gate_.open();
        check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        if (!gate_.held()) return false;
        for (std::size_t i = 0; i < order.size(); ++i) {
            float milliseconds = 0;
            check(cudaEventElapsedTime(&milliseconds, events_[i].get(), events_[i + 1].get()), "cudaEventElapsedTime");
            seconds_[order[i]].push_back(double{milliseconds} * 1e-3);
        }
        return true;
    }

    [[nodiscard]] std::vector<std::vector<double>> seconds() && { return std::move(seconds_); }

  private:
    void record(std::size_t i) { check(cudaEventRecord(events_[i].get(), stream_.get()), "cudaEventRecord"); }

    const std::vector<Contender>& contenders_;
    Pool& pool_;
    OwnStream stream_;
    Gate gate_;
    std::vector<Event> events_;
    std::vector<std::vector<double>> seconds_;
};

} // namespace

std::vector<std::vector<double>> time_in_turns(const std::vector<Contender>& contenders, Pool& pool, int repeats) {
    Turns turns(contenders, pool);
    turns.warm_up();
    int failures = 0;
    for (int done = 0; done < repeats;) {
        if (turns.round(done))
            ++done;
        else if (++failures > repeats + 10)
            throw program::Failure(
                "the host is too busy to time the GPU, or a launcher waits for it: calls could not be "
                "queued within 20 ms; try again when it is idle");
    }
    return std::move(turns).seconds();
}

std::vector<double> time_waiting(const Contender& contender, Pool& pool, int repeats) {
    const OwnStream stream;
    const Event begin, end;
    std::vector<double> seconds;
    for (int i = -2; i < repeats; ++i) { // two to warm up
        check(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
        contender.launch(pool.next(), stream.get());
        check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
        check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
        if (i >= 0) seconds.push_back(double{milliseconds} * 1e-3);
    }
    return seconds;
}

Contender fastest_read(std::uint64_t n, Pool& pool) {
    const std::vector<Contender> reads = read_contenders(pool.dtype(), n);
    const auto seconds = time_in_turns(reads, pool, 7);
    std::size_t best = 0;
    for (std::size_t i = 1; i < reads.size(); ++i)
        if (median(seconds[i]) < median(seconds[best])) best = i;
    return reads[best];
}

} // namespace detreduce::report::gpu
