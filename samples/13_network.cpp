// Trains a network of two layers on generated data until it tells the arms of a spiral apart. The first gradients are
// checked against float64, and at the end at least 97 % of fresh points are classified right.
#include "support/report.hpp"

#include <array>

using namespace tegula;

namespace {

constexpr int inputs = 2, hidden = 64, classes = 3;
constexpr int batch = 128;  // points that one block takes

/// Holds the weights of both layers; biases are rows.
template <template <class, int, class...> class Access>
struct Layers {
  Access<float, 2> w1, b1, w2, b2;
};

/// Returns the hidden layer and the scores of each class for a tile of points.
template <class Tile, class Network>
auto forward(Tile const& points, Network const& net) {
  tile h = max(dot(points, load(net.w1, shape<inputs, hidden>, 0, 0)) + load(net.b1, shape<1, hidden>, 0, 0), 0);
  tile z = dot(h, load(net.w2, shape<hidden, classes>, 0, 0)) + load(net.b2, shape<1, classes>, 0, 0);
  return let(carry(h, z));
}

/// Adds to each gradient what a block's points give: the derivative of the mean cross-entropy.
constexpr auto gradients = kernel(
    "gradients", [](in<float, 2> x, in<int, 1> labels, Layers<in> net, Layers<inout> gradient, arg<float> scale) {
      auto g = grid_over(x, shape<batch, inputs>);
      tile points = load(x, shape<batch, inputs>, g[0], g[1]);
      auto [h, z] = forward(points, net);
      tile e = exp(z - max(z, axis<1>));
      tile label = expand_dims(load(labels, shape<batch>, g[0], pad(-1)), axis<1>);  // -1: beyond the last point
      tile hit = cast<float>(iota<int>(shape<1, classes>, axis<1>) == label);
      tile dz = select(label >= 0, (e / sum(e, axis<1>) - hit) * scale, 0);
      tile dh = select(h > 0, dot(dz, trans(load(net.w2, shape<hidden, classes>, 0, 0))), 0);
      atomic_add(gradient.w1, shape<inputs, hidden>, dot(trans(points), dh), 0, 0);
      atomic_add(gradient.b1, shape<1, hidden>, sum(dh, axis<0>), 0, 0);
      atomic_add(gradient.w2, shape<hidden, classes>, dot(trans(h), dz), 0, 0);
      atomic_add(gradient.b2, shape<1, classes>, sum(dz, axis<0>), 0, 0);
    });

/// Moves weights against their gradient, with momentum, and clears the gradient for the next step.
constexpr auto update =
    kernel("update", [](inout<float, 2> weights, inout<float, 2> gradient, inout<float, 2> velocity, arg<float> rate) {
      auto g = grid_over(weights, shape<1, hidden>);
      tile v =
          load(velocity, shape<1, hidden>, g[0], g[1]) * 0.9F - load(gradient, shape<1, hidden>, g[0], g[1]) * rate;
      store(weights, shape<1, hidden>, load(weights, shape<1, hidden>, g[0], g[1]) + v, g[0], g[1]);
      store(velocity, shape<1, hidden>, v, g[0], g[1]);
      store(gradient, shape<1, hidden>, 0, g[0], g[1]);
    });

constexpr auto classify = kernel("classify", [](in<float, 2> x, Layers<in> net, out<int, 1> found) {
  auto g = grid_over(found, shape<batch>);
  tile points = load(x, shape<batch, inputs>, g[0], 0);
  auto [h, z] = forward(points, net);
  store(found, shape<batch>, squeeze(argmax(z, axis<1>), axis<1>), g[0]);
});

/// Holds points on the arms of a spiral, two coordinates each, and the arm of each point.
struct Points {
  std::vector<float> x;
  std::vector<int> labels;
};
Points spirals(std::int64_t count) {
  Points result;
  std::vector<double> const random = samples::exact(samples::random_values<float>(2 * count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    int const arm = static_cast<int>(i % classes);
    double const radius = 0.1 + 0.9 * std::abs(random[2 * i]);
    double const angle = 2 * 3.14159265358979 * arm / classes + 4.5 * radius + 0.5 * random[2 * i + 1];
    result.x.push_back(static_cast<float>(radius * std::cos(angle)));
    result.x.push_back(static_cast<float>(radius * std::sin(angle)));
    result.labels.push_back(arm);
  }
  return result;
}

using Weights = std::vector<std::vector<double>>;  // w1, b1, w2, b2

Weights expected_gradients(Points const& points, Weights const& net, double scale) {
  Weights result;
  for (auto const& one : net) result.emplace_back(one.size());
  for (std::size_t i = 0; i < points.labels.size(); ++i) {
    std::array<double, hidden> h{};
    std::array<double, classes> z{};
    for (std::size_t j = 0; j < hidden; ++j) {
      double a = net[1][j];
      for (std::size_t k = 0; k < inputs; ++k)
        a += static_cast<double>(points.x[i * inputs + k]) * net[0][k * hidden + j];
      h[j] = std::max(a, 0.0);
    }
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      z[c] = net[3][c];
      for (std::size_t j = 0; j < hidden; ++j) z[c] += h[j] * net[2][j * classes + c];
      sum += z[c] = std::exp(z[c]);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      z[c] = (z[c] / sum - (static_cast<int>(c) == points.labels[i] ? 1 : 0)) * scale;
      result[3][c] += z[c];
    }
    for (std::size_t j = 0; j < hidden; ++j) {
      double dh = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        result[2][j * classes + c] += h[j] * z[c];
        dh += z[c] * net[2][j * classes + c];
      }
      if (h[j] == 0) continue;
      result[1][j] += dh;
      for (std::size_t k = 0; k < inputs; ++k)
        result[0][k * hidden + j] += static_cast<double>(points.x[i * inputs + k]) * dh;
    }
  }
  return result;
}

}  // namespace

int main() {
  return samples::guarded("13_network", [] {
    std::int64_t const count = 1500;
    int const steps = 1000;
    device const where = device::best();
    stream const order(where);
    Points const training = spirals(count), fresh = spirals(count);
    auto const x = samples::filled<float, 2>(where, training.x, count, inputs);
    auto const labels = samples::filled<int, 1>(where, training.labels, count);

    std::array<std::int64_t, 2> const extents[] = {{inputs, hidden}, {1, hidden}, {hidden, classes}, {1, classes}};
    Weights start;
    std::vector<buffer<float, 2>> net, gradient, velocity;
    for (auto const [rows, columns] : extents) {
      auto values = samples::random_values<float>(rows * columns);
      for (float& value : values) value *= rows == hidden ? 0.2F : 2.F;
      start.push_back(samples::exact(values));
      net.push_back(samples::filled<float, 2>(where, values, rows, columns));
      std::vector<float> const zeros(values.size(), 0.F);
      gradient.push_back(samples::filled<float, 2>(where, zeros, rows, columns));
      velocity.push_back(samples::filled<float, 2>(where, zeros, rows, columns));
    }
    float const scale = 1 / static_cast<float>(count);
    auto const backward = prepare(where, gradients, x, labels, net[0], net[1], net[2], net[3], gradient[0], gradient[1],
                                  gradient[2], gradient[3], scale);
    std::vector<prepared> updates;
    for (std::size_t i = 0; i < net.size(); ++i)
      updates.push_back(prepare(where, update, net[i], gradient[i], velocity[i], 0.3F));

    // The first gradients, from random weights.
    backward(order);
    auto const expected = expected_gradients(training, start, static_cast<double>(scale));
    samples::Comparison all(1e-6);
    for (std::size_t i = 0; i < net.size(); ++i) {
      std::vector<float> found(expected[i].size());
      gradient[i].copy_to(found);
      all.join(samples::compare(found, expected[i], 1, 1e-6));
      gradient[i].copy_from(std::vector<float>(found.size(), 0.F));
    }

    double const seconds = samples::best_seconds(
        order,
        [&](stream const& on) {
          for (int step = 0; step < steps; ++step) {
            backward(on);
            for (auto const& one : updates) one(on);
          }
        },
        1);

    auto const device_fresh = samples::filled<float, 2>(where, fresh.x, count, inputs);
    auto device_found = samples::poisoned<int, 1>(where, count);
    launch(order, classify, device_fresh, net[0], net[1], net[2], net[3], device_found);
    std::vector<int> found(fresh.labels.size());
    device_found.copy_to(found);
    int right = 0;
    for (std::size_t i = 0; i < found.size(); ++i) right += found[i] == fresh.labels[i] ? 1 : 0;
    samples::Comparison accuracy(0.03);  // the error is the share of wrong points
    accuracy.add(0, static_cast<double>(right) / static_cast<double>(count), 1.0);
    return samples::report("13_network",
                           samples::text(right, " of ", count, " fresh points right after ", 2 * steps, " steps"),
                           where, seconds, steps / seconds, "steps/s", all.right() ? accuracy : all);
  });
}
