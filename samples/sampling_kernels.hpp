// Defines kernels that find the largest of many logits, and draw from those that make up a share of the probability.
// Tensors are (row, token). A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

inline constexpr int maximum_group = 32;  ///< adjacent logits that share a maximum

/// Finds the maximum of each group of logits; a block does so for `part` of them.
template <int part>
inline constexpr auto group_maxima = kernel("group_maxima", [](in<float, 2> logits, out<float, 2> maxima) {
  constexpr int groups = part / maximum_group;
  require(ceil_div(logits.extent(1), maximum_group) == maxima.extent(1), "group_maxima: each group has a maximum");
  auto g = grid_over(maxima, shape<1, groups>);
  tile x = load(logits, shape<1, part>, g[0], g[1], pad(-inf));
  tile highest = max(reshape(x, shape<groups, maximum_group>), axis<1>);
  store(maxima, shape<1, groups>, reshape(highest, shape<1, groups>), g[0], g[1]);
});

/// Finds the largest logits of each row, the largest first, and their tokens; of equal ones the first token. They lie
/// in as many groups, those with the highest maxima. `most`, a power of two, is enough for all that are asked for, and
/// `groups` for those of a row.
template <int most, int groups>
inline constexpr auto largest_of_groups = kernel("largest_of_groups", [](in<float, 2> logits, in<float, 2> maxima,
                                                                         out<float, 2> values, out<int, 2> tokens) {
  require(values.extent(1) <= most, "largest_of_groups: too many logits are asked for");
  require(maxima.extent(1) <= groups, "largest_of_groups: the maxima of a row must fit one tile");
  auto g = grid_over(values, shape<1, most>);
  auto [highest, where] = top_k<most>(load(maxima, shape<1, groups>, g[0], 0, pad(-inf)), axis<1>);
  tile first = sort(where, axis<1>) * maximum_group;  // tokens rise, so that the first of equal logits stays ahead
  tile ids = trans(first) + iota<int>(shape<1, maximum_group>, axis<1>);
  tile all = reshape(gather(logits, g[0], ids, pad(-inf)), shape<1, most * maximum_group>);
  auto [value, place] = top_k<most>(all, axis<1>);
  tile group = trans(place / maximum_group);
  tile start = sum(select(group == iota<int>(shape<1, most>, axis<1>), first, 0), axis<1>);
  store(values, shape<1, most>, value, g[0], 0);
  store(tokens, shape<1, most>, trans(start) + place % maximum_group, g[0], 0);
});

/// Draws a token of each row in proportion to exp(logit / temperature), among those that make up `share` of the
/// probability: a token is one of them if those with higher logits make up less. `seed` and the row decide the draw.
///
/// Each pass over the row draws among all logits above a bound: noise is added to the logarithm of each group's sum of
/// exponentials, and the highest result wins; so does a logit within the group. The next pass sums what lies above the
/// token drawn. If that is `share` or more, the token is dropped and its logit is the new bound. Tokens are dropped
/// that are not among those wanted, so the others keep their proportions. Most rows take two passes.
template <int part>
inline constexpr auto draw_top_p = kernel("draw_top_p", [](in<float, 2> logits, out<int, 1> tokens,
                                                           arg<float> temperature, arg<float> share,
                                                           arg<std::int64_t> seed) {
  constexpr int groups = part / maximum_group;
  constexpr auto one = shape<1, 1>;
  auto g = grid_over(tokens, shape<1>);
  tile row = full<std::int64_t>(one, g[0]);
  tile everything = full(one, -inf), rate = 1.0F / full(one, temperature);
  auto noise = [&](auto const& pass, auto const& place) {  // of Gumbel's distribution
    tile number = (((row << 16) + cast<std::int64_t>(pass)) << 24) + cast<std::int64_t>(place);
    return -log(-log(max(random_uniform(seed, number), 0x1p-25F)));
  };
  auto draw_group = [&](auto const& bound, auto const& pass) {
    return loop(
        ceil_div(logits.extent(1), part), carry(full(one, -1e38F), zeros<float>(one), everything, zeros<int>(one)),
        [&](auto k, auto top, auto mass, auto best, auto group) {
          tile x = load(logits, shape<1, part>, g[0], k, pad(-inf));
          tile z = select(x > bound, x * rate, -inf);
          tile highest = max(top, max(z, axis<1>));
          tile sums = trans(sum(reshape(exp(z - highest), shape<groups, maximum_group>), axis<1>));
          tile ids = iota<int>(shape<1, groups>, axis<1>) + cast<int>(k) * groups;
          tile score = log(sums) + highest + noise(pass, ids);
          tile winner = max(score, axis<1>);
          return carry(highest, mass * exp(top - highest) + sum(sums, axis<1>), max(best, winner),
                       select(winner > best, argmax(score, axis<1>) + cast<int>(k) * groups, group));
        },
        stages<4>);
  };
  auto draw_of_group = [&](auto const& group, auto const& bound, auto const& pass) {
    tile column = iota<int>(shape<1, maximum_group>, axis<1>), ids = group * maximum_group + column;
    tile x = gather(logits, g[0], ids, pad(-inf));
    tile place = ids + (1 << 23);  // others than those of groups
    tile at = argmax(select(x > bound, x * rate, -inf) + noise(pass, place), axis<1>);
    tile token = group * maximum_group + at;
    return token;
  };
  tile start = zeros<int>(one);
  auto [top_of_all, mass_of_all, best_of_all, first_group] = draw_group(everything, start);
  tile total = top_of_all + log(mass_of_all);
  tile first = draw_of_group(first_group, everything, start);
  auto next = [&](auto const& token, auto const& logit, auto const& pass) {  // the token if it is wanted, else another
    auto [top, mass, best, group] = draw_group(logit, pass);
    tile above = exp(top + log(mass) - total);
    tile drops = (above >= share) & (mass > 0);
    tile other = draw_of_group(group, logit, pass);
    return carry(select(drops, other, token), select(drops, gather(logits, g[0], other), logit), pass + 1, drops);
  };
  tile second = start + 1;
  tile its_logit = gather(logits, g[0], first);
  auto drawn = while_(
      next(first, its_logit, second), [&](auto, auto, auto, auto going) { return any(going); },
      [&](auto token, auto logit, auto pass, auto) { return next(token, logit, pass); });
  auto [token, logit, passes, going] = drawn;
  store(tokens, shape<1>, reshape(token, shape<1>), g[0]);
});

}  // namespace samples
