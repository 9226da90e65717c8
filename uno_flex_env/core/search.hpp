// Looking ahead from what one player sees: worlds that agree with it are drawn, candidates are tried in them, rule bots
// play on to the end. What counts is how often the player wins the round.
//
// Playouts are noisy, and the best of many noisy means is mostly the luckiest. So a search begins with a default, the
// move of the policy that it is to improve, and leaves it only for one that has won significantly more often.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

#include "bots.hpp"
#include "information.hpp"
#include "kernel.hpp"

UNO_FLEX_BEGIN

using uno_flex_kernel::Search;

namespace detail {

/// Nanoseconds of processor time that this thread has had, where that can be asked; else those that have passed. So
/// waiting for a busy processor does not count.
inline int64_t thread_time() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
#else
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
#endif
}

/// How much has been spent, and whether there is more to spend.
class Purse {
public:
    Purse(const Search& search) : search_(search), begin_(search.simulations ? 0 : thread_time()) {}
    /// Whether so many more simulations are within the budget.
    bool affords(int64_t simulations) {
        if (search_.simulations) return spent + simulations <= search_.simulations;
        // Asking the clock costs a tenth of a simulation.
        if (spent >= next_look_) {
            next_look_ = spent + 16;
            over_ = thread_time() - begin_ >= search_.nanoseconds;
        }
        return !over_;
    }
    int64_t spent = 0;

private:
    const Search& search_;
    const int64_t begin_;
    int64_t next_look_ = 0;
    bool over_ = false;
};

/// How often one candidate has won.
struct Tally {
    double wins = 0, visits = 0;
};

/// Whether a win rate lies above another by more than `errors` standard errors of the difference. One more win and loss
/// are added to each, so that two wins out of two prove nothing.
inline bool exceeds(const Tally& a, const Tally& b, double errors) {
    const double n = a.visits + 2, m = b.visits + 2, p = (a.wins + 1) / n, q = (b.wins + 1) / m;
    return p - q > errors * std::sqrt(p * (1 - p) / n + q * (1 - q) / m);
}

/// A player's candidates and what they won in the same worlds: bit w % 64 of word w / 64 of each.
struct Candidates {
    std::vector<int> action;
    std::vector<std::vector<uint64_t>> won;
    int worlds = 0;

    int wins(int c) const {
        int n = 0;
        for (const uint64_t word : won[c]) n += popcount(word);
        return n;
    }
    /// By how many standard errors c has won more often than d, paired world by world, with one more world for each.
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

/// With fewer simulations of a candidate nothing is certain.
constexpr int kFewest = 16;
/// Candidates so many standard errors behind the best are given up: their worlds do more good to the others.
constexpr double kBeaten = 3.0;
constexpr int kFirstLook = 32;

inline void note(const Search& q, int i, const Candidates& c) {
    for (int k = 0; k < int(c.action.size()); ++k) {
        q.visits[size_t(i) * kActions + c.action[k]] = c.worlds;
        q.wins[size_t(i) * kActions + c.action[k]] = c.wins(k);
    }
}

/// Flat search (perfect-information Monte Carlo): all candidates in the same worlds, the hopeless ones dropped on the
/// way.
inline int search_flat(const Search& q, int i, const State& view, const uint8_t* bots) {
    uint64_t rng = q.keys[i];
    Candidates c;
    for (int a = 0; a < kActions; ++a)
        if (contains(view.legal, a)) c.action.push_back(a);
    c.won.resize(c.action.size());
    Purse purse(q);
    for (int look = kFirstLook; c.action.size() > 1 && purse.affords(int64_t(c.action.size()));) {
        const State world = determinize(view, q.viewers[i], next_random(rng));
        const uint64_t luck = next_random(rng);
        for (size_t k = 0; k < c.action.size(); ++k) {
            State s = world;
            apply(s, c.action[k]);
            uint64_t same_luck = luck;
            play_out(s, bots, same_luck);
            if (c.worlds % 64 == 0) c.won[k].push_back(0);
            c.won[k].back() |= uint64_t(s.winner == q.viewers[i]) << (c.worlds % 64);
        }
        ++c.worlds;
        purse.spent += int64_t(c.action.size());
        if (c.worlds != look) continue;
        look *= 2;
        note(q, i, c);
        const int best = c.action[c.best()];
        for (int k = int(c.action.size()); k-- > 0;)
            if (c.lead(c.place(best), k) > std::max(kBeaten, q.confidence)) c.drop(k);
    }
    note(q, i, c);
    if (c.worlds < kFewest) return q.defaults[i];
    const int best = c.best(), usual = c.place(q.defaults[i]);
    return usual < 0 || c.lead(best, usual) > q.confidence ? c.action[best] : q.defaults[i];
}

/// The tree of an information-set search: positions as the player can tell them apart, and what was done there.
struct Branch {
    int next = -1;       // of the same position
    int positions = -1;  // what followed
    int action = 0;
    int visits = 0, available = 0;
    int wins = 0;  // of whoever decides there
};
struct Position {
    uint32_t key = 0;  // who decides, in which phase, with which drawn card if the player sees it
    int next = -1;     // after the same branch
    int branches = -1;
};

inline uint32_t public_key(const State& s, int viewer) {
    return uint32_t(s.current_player) | uint32_t(s.phase) << 8 |
           uint32_t(s.current_player == viewer ? s.drawn : kNone) << 16;
}

/// Information-set Monte Carlo tree search (Cowling, Powley and Whitehouse, IEEE TCIAIG 2012): each iteration draws a
/// world, walks down the one tree by upper confidence bounds among the actions that are legal in it, and adds a branch.
/// Everybody maximizes how often they win themselves.
class Tree {
public:
    Tree(const Search& q, const State& view, int viewer) : q_(q), view_(view), viewer_(viewer), positions_(1) {}

    void iterate(const uint8_t* bots, uint64_t& rng) {
        State s = determinize(view_, viewer_, next_random(rng));
        path_.clear();
        movers_.clear();
        for (int at = 0; !is_over(s);) {
            bool fresh = false;
            const int branch = choose(at, s.legal, rng, fresh);
            path_.push_back(branch);
            movers_.push_back(s.current_player);
            apply(s, branches_[branch].action);
            if (fresh) break;
            at = follow(branch, public_key(s, viewer_));
        }
        play_out(s, bots, rng);
        for (size_t k = 0; k < path_.size(); ++k) {
            ++branches_[path_[k]].visits;
            branches_[path_[k]].wins += s.winner == movers_[k];
        }
    }

    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (int b = positions_[0].branches; b >= 0; b = branches_[b].next)
            visit(branches_[b].action, Tally{double(branches_[b].wins), double(branches_[b].visits)});
    }

private:
    /// A branch that has not been tried yet, in the bots' order; else the one with the highest bound.
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
    const int viewer_;
    std::vector<Position> positions_;
    std::vector<Branch> branches_;
    std::vector<int> path_, movers_;
};

inline int search_tree(const Search& q, int i, const State& view, const uint8_t* bots) {
    uint64_t rng = q.keys[i];
    Tree tree(q, view, q.viewers[i]);
    for (Purse purse(q); purse.affords(1); ++purse.spent) tree.iterate(bots, rng);
    int best = q.defaults[i];
    Tally most, usual;
    tree.each_candidate([&](int action, const Tally& tally) {
        q.visits[size_t(i) * kActions + action] = int32_t(tally.visits);
        q.wins[size_t(i) * kActions + action] = int32_t(tally.wins);
        if (action == q.defaults[i]) usual = tally;
        if (tally.visits > most.visits) most = tally, best = action;
    });
    return most.visits >= kFewest && exceeds(most, usual, q.confidence) ? best : q.defaults[i];
}

}  // namespace detail

/// Search from the views `begin` to `end`; whoever has no choice is spared the search.
inline void search_views(const Search& q, int begin, int end) {
    uint8_t bots[kMaxPlayers];
    std::memset(bots, q.bot, sizeof bots);
    for (int i = begin; i < end; ++i) {
        const State& view = q.views[i];
        const bool choice = popcount(view.legal.word[0]) + popcount(view.legal.word[1]) + popcount(view.legal.word[2]) +
                                popcount(view.legal.word[3]) >
                            1;
        q.actions[i] = !choice  ? q.defaults[i]
                       : q.tree ? detail::search_tree(q, i, view, bots)
                                : detail::search_flat(q, i, view, bots);
    }
}

UNO_FLEX_END
