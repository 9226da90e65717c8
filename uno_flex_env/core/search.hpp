// Search from the view of one player. A search draws worlds that agree with the view and tries the candidates in them.
// Rule bots then play to the end of the round. The search counts how often the player wins the round.
//
// Playouts are noisy, so the best of many sample means is biased upwards. Each search therefore has a default action,
// the choice of the policy that it improves. It returns another action only if that action wins significantly more
// often.
//
// The candidates are the legal actions that the mask allows. The mask restricts the player's decision at the root only:
// later decisions in a world, the player's own included, are free.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

#include "bots.hpp"
#include "information.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"

UNO_FLEX_BEGIN

using uno_flex_kernel::Search;

namespace detail {

/// Nanoseconds of processor time that this thread has used. Waiting for a busy processor does not count. On systems
/// without such a clock, this is elapsed time.
inline int64_t thread_time() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
#else
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
#endif
}

/// What one search may spend: simulations or time.
class Budget {
public:
    explicit Budget(const Search& search) : search_(search), begin_(search.simulations ? 0 : thread_time()) {}
    /// Whether this many more simulations are within the budget, and the search is not interrupted.
    bool affords(int64_t simulations) {
        // Clocks are slow, so they are read every 16 simulations.
        if (spent >= next_look_) {
            next_look_ = spent + 16;
            over_ = search_.interrupt.poll() || (!search_.simulations && thread_time() - begin_ >= search_.nanoseconds);
        }
        return !over_ && (!search_.simulations || spent + simulations <= search_.simulations);
    }
    int64_t spent = 0;

private:
    const Search& search_;
    const int64_t begin_;
    int64_t next_look_ = 0;
    bool over_ = false;
};

/// How often one candidate was tried, and how often the player won with it.
struct Tally {
    double wins = 0, visits = 0;
};

/// Whether the win rate of a is above that of b by more than `errors` standard errors of the difference. One win and one
/// loss are added to each, so that two wins out of two prove nothing.
inline bool exceeds(const Tally& a, const Tally& b, double errors) {
    const double n = a.visits + 2, m = b.visits + 2, p = (a.wins + 1) / n, q = (b.wins + 1) / m;
    return p - q > errors * std::sqrt(p * (1 - p) / n + q * (1 - q) / m);
}

/// A player's candidates, and the worlds that each has won: world w is bit w % 64 of word w / 64.
struct Candidates {
    std::vector<int> action;
    std::vector<std::vector<uint64_t>> won;
    int worlds = 0;

    int wins(int c) const {
        int n = 0;
        for (const uint64_t word : won[c]) n += popcount(word);
        return n;
    }
    /// The lead of c over d in standard errors, paired by world. One world that only c wins and one that only d wins
    /// are added.
    double lead(int c, int d) const {
        int better = 1, worse = 1;
        for (size_t w = 0; w < won[c].size(); ++w) {
            better += popcount(won[c][w] & ~won[d][w]);
            worse += popcount(won[d][w] & ~won[c][w]);
        }
        const double n = worlds + 2, mean = (better - worse) / n;
        return mean / std::sqrt(((better + worse) / n - mean * mean) / n);
    }
    int best() const {
        int found = 0;
        for (int c = 1; c < int(action.size()); ++c)
            if (wins(c) > wins(found)) found = c;
        return found;
    }
    int place(int wanted) const {
        for (int c = 0; c < int(action.size()); ++c)
            if (action[c] == wanted) return c;
        return -1;
    }
    void drop(int c) {
        action.erase(action.begin() + c);
        won.erase(won.begin() + c);
    }
};

/// With fewer simulations of a candidate than this, the search returns the default.
constexpr int kMinWorlds = 16;
/// A candidate this many standard errors behind the best is dropped, so that the others get its simulations.
constexpr double kDropLead = 3.0;
/// Candidates can be dropped after this many worlds, and again each time that the number has doubled.
constexpr int kFirstLook = 32;

/// The actions that a search of row i may choose.
inline ActionSet candidates_of(const Search& q, int i) {
    ActionSet candidates = q.views[i].legal;
    if (q.masks)
        for (int a = 0; a < kActions; ++a)
            if (!q.masks[size_t(i) * kActions + a]) candidates.word[a >> 6] &= ~(uint64_t(1) << (a & 63));
    return candidates;
}

inline void write_counts(const Search& q, int i, const Candidates& c) {
    for (int k = 0; k < int(c.action.size()); ++k) {
        q.visits[size_t(i) * kActions + c.action[k]] = c.worlds;
        q.wins[size_t(i) * kActions + c.action[k]] = c.wins(k);
    }
}

/// Play every candidate out in one more world, with the same random numbers for the bots.
inline void try_in_world(Candidates& c, const State& world, int viewer, const uint8_t* bots, uint64_t bot_rng) {
    for (size_t k = 0; k < c.action.size(); ++k) {
        State s = world;
        apply(s, c.action[k]);
        uint64_t rng = bot_rng;
        play_out(s, bots, rng);
        if (c.worlds % 64 == 0) c.won[k].push_back(0);
        c.won[k].back() |= uint64_t(s.winner == viewer) << (c.worlds % 64);
    }
    ++c.worlds;
}

/// Flat search (perfect-information Monte Carlo): all candidates play in the same worlds. Hopeless ones are dropped
/// early.
inline int search_flat(const Search& q, int i, const ActionSet& candidates, const uint8_t* bots) {
    uint64_t rng = q.keys[i];
    Candidates c;
    for (int a = 0; a < kActions; ++a)
        if (contains(candidates, a)) c.action.push_back(a);
    c.won.resize(c.action.size());
    Budget budget(q);
    for (int look = kFirstLook; c.action.size() > 1 && budget.affords(int64_t(c.action.size()));) {
        const State world = determinize(q.views[i], q.viewers[i], next_random(rng));
        budget.spent += int64_t(c.action.size());
        try_in_world(c, world, q.viewers[i], bots, next_random(rng));
        if (c.worlds != look) continue;
        look *= 2;
        write_counts(q, i, c);
        const int best = c.action[c.best()];
        for (int k = int(c.action.size()); k-- > 0;)
            if (c.lead(c.place(best), k) > std::max(kDropLead, q.confidence)) c.drop(k);
    }
    write_counts(q, i, c);
    if (c.worlds < kMinWorlds) return q.defaults[i];
    const int best = c.best(), usual = c.place(q.defaults[i]);
    return usual < 0 || c.lead(best, usual) > q.confidence ? c.action[best] : q.defaults[i];
}

/// The tree of an information-set search has one node for all positions that the player can't tell apart, and a branch
/// for each action tried there. Links are indices into a vector; -1 ends a list.
struct Branch {
    int next = -1;       // the next branch of the same position
    int positions = -1;  // the first position that followed
    int action = 0;
    int visits = 0;
    int available = 0;  // how often the action was legal here
    int wins = 0;       // wins of the player who decides here
};
struct Position {
    uint32_t key = 0;   // public_key()
    int next = -1;      // the next position after the same branch
    int branches = -1;  // the first branch
};

/// A key that tells positions after the same branch apart: the current player, the phase, and the drawn card if the
/// viewer sees it.

inline uint32_t public_key(const State& s, int viewer) {
    return uint32_t(s.current_player) | uint32_t(s.phase) << 8 |
           uint32_t(s.current_player == viewer ? s.drawn : kNone) << 16;
}

/// Information-set Monte Carlo tree search (Cowling, Powley and Whitehouse, doi:10.1109/TCIAIG.2012.2200894). Each
/// iteration draws a world, walks down the one tree by upper confidence bounds among the actions that are legal in this
/// world, and adds a branch. Each player maximizes its wins.
class Tree {
public:
    Tree(const Search& q, int i, const ActionSet& candidates)
        : q_(q), view_(q.views[i]), candidates_(candidates), viewer_(q.viewers[i]), positions_(1) {}

    void iterate(const uint8_t* bots, uint64_t& rng) {
        State s = determinize(view_, viewer_, next_random(rng));
        path_.clear();
        deciders_.clear();
        for (int at = kRoot; !is_over(s);) {
            bool fresh = false;
            const int branch = choose(at, at == kRoot ? candidates_ : s.legal, rng, fresh);
            path_.push_back(branch);
            deciders_.push_back(s.current_player);
            apply(s, branches_[branch].action);
            if (fresh) break;
            at = follow(branch, public_key(s, viewer_));
        }
        play_out(s, bots, rng);
        for (size_t k = 0; k < path_.size(); ++k) {
            ++branches_[path_[k]].visits;
            branches_[path_[k]].wins += s.winner == deciders_[k];
        }
    }

    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (int b = positions_[kRoot].branches; b >= 0; b = branches_[b].next)
            visit(branches_[b].action, Tally{double(branches_[b].wins), double(branches_[b].visits)});
    }

private:
    static constexpr int kRoot = 0;

    /// The branch to take at position `at`. If some actions are untried here, the bot chooses among them and a branch
    /// is added. Otherwise it is the branch with the highest bound.
    int choose(int at, const ActionSet& legal, uint64_t& rng, bool& fresh) {
        ActionSet untried = legal;
        int best = -1;
        double highest = -1;
        for (int b = positions_[at].branches; b >= 0; b = branches_[b].next) {
            Branch& branch = branches_[b];
            if (!contains(legal, branch.action)) continue;
            untried.word[branch.action / 64] &= ~(uint64_t(1) << (branch.action % 64));
            ++branch.available;
            const double mean = double(branch.wins) / branch.visits;
            const double bound = mean + q_.exploration * std::sqrt(std::log(double(branch.available)) / branch.visits);
            if (bound > highest) highest = bound, best = b;
        }
        if (!any(untried)) return best;
        fresh = true;
        Branch added;
        added.action = act(Bot(q_.bot), untried, rng);
        added.available = 1;
        added.next = positions_[at].branches;
        positions_[at].branches = int(branches_.size());
        branches_.push_back(added);
        return positions_[at].branches;
    }

    /// The position with this key after a branch, added if there is none.
    int follow(int branch, uint32_t key) {
        for (int p = branches_[branch].positions; p >= 0; p = positions_[p].next)
            if (positions_[p].key == key) return p;
        Position added;
        added.key = key;
        added.next = branches_[branch].positions;
        branches_[branch].positions = int(positions_.size());
        positions_.push_back(added);
        return branches_[branch].positions;
    }

    const Search& q_;
    const State& view_;
    const ActionSet candidates_;
    const int viewer_;
    std::vector<Position> positions_;
    std::vector<Branch> branches_;
    std::vector<int> path_, deciders_;
};

inline int search_tree(const Search& q, int i, const ActionSet& candidates, const uint8_t* bots) {
    uint64_t rng = q.keys[i];
    Tree tree(q, i, candidates);
    for (Budget budget(q); budget.affords(1); ++budget.spent) tree.iterate(bots, rng);
    int best = q.defaults[i];
    Tally most, usual;
    tree.each_candidate([&](int action, const Tally& tally) {
        q.visits[size_t(i) * kActions + action] = int32_t(tally.visits);
        q.wins[size_t(i) * kActions + action] = int32_t(tally.wins);
        if (action == q.defaults[i]) usual = tally;
        if (tally.visits > most.visits) most = tally, best = action;
    });
    return most.visits >= kMinWorlds && exceeds(most, usual, q.confidence) ? best : q.defaults[i];
}

}  // namespace detail

/// Search rows `begin` to `end`. A row with one candidate is not searched.
inline void search_views(const Search& q, int begin, int end) {
    uint8_t bots[kMaxPlayers];
    std::memset(bots, q.bot, sizeof bots);
    for (int i = begin; i < end; ++i) {
        const ActionSet candidates = detail::candidates_of(q, i);
        int n = 0;
        for (const uint64_t word : candidates.word) n += popcount(word);
        q.actions[i] = n < 2    ? q.defaults[i]
                       : q.tree ? detail::search_tree(q, i, candidates, bots)
                                : detail::search_flat(q, i, candidates, bots);
    }
}

UNO_FLEX_END
