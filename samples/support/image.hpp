#pragma once
// Pictures for the samples: 8-bit grey or RGB, read from and written to PNG (libpng) and binary PNM (P5, P6).

#include <png.h>

#include "text.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace samples {

/// Holds rows from the top, channels interleaved.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;  // 1 grey, 3 RGB
  std::vector<std::uint8_t> pixels;

  [[nodiscard]] std::size_t at(int channel, int y, int x) const {
    return (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) *
               static_cast<std::size_t>(channels) +
           static_cast<std::size_t>(channel);
  }
};

namespace detail {

inline constexpr std::int64_t largest_side = 1 << 16;

inline Image blank(std::int64_t width, std::int64_t height, int channels, std::string const& path) {
  if (width < 1 || height < 1 || width > largest_side || height > largest_side)
    throw std::runtime_error(
        text(path, ": a picture of ", width, " x ", height, " pixels; each side must be from 1 to 65536"));
  Image image{static_cast<int>(width), static_cast<int>(height), channels, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height) * static_cast<std::size_t>(channels));
  return image;
}

inline Image read_png(std::string const& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0) throw std::runtime_error(path + ": " + png.message);
  bool const grey = (png.format & PNG_FORMAT_FLAG_COLOR) == 0;
  png.format = grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image;
  try {
    image = blank(png.width, png.height, grey ? 1 : 3, path);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  if (png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(path + ": " + png.message);
  return image;
}

/// Reads the next number of a PNM header; skips blanks and comments before it.
inline std::int64_t header_number(std::istream& in, std::string const& path) {
  while (in >> std::ws && in.peek() == '#') in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  std::int64_t number = 0;
  if (!(in >> number)) throw std::runtime_error(path + ": malformed PNM header");
  return number;
}

inline Image read_pnm(std::istream& in, std::string const& path) {
  char magic[2] = {};
  in.read(magic, 2);
  int const channels = magic[1] == '5' ? 1 : 3;
  std::int64_t const width = header_number(in, path);
  std::int64_t const height = header_number(in, path);
  std::int64_t const largest = header_number(in, path);
  if (largest != 255) throw std::runtime_error(text(path, ": largest value ", largest, "; only 255 is read"));
  in.get();  // the one blank before the pixels
  Image image = blank(width, height, channels, path);
  in.read(reinterpret_cast<char*>(image.pixels.data()), static_cast<std::streamsize>(image.pixels.size()));
  if (static_cast<std::size_t>(in.gcount()) != image.pixels.size())
    throw std::runtime_error(path + ": the file ends inside the pixels");
  return image;
}

}  // namespace detail

/// Reads PNG or binary PNM by the file's first bytes. Throws std::runtime_error that names the file.
inline Image read_image(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  char head[2] = {};
  in.read(head, 2);
  if (head[0] == 'P' && (head[1] == '5' || head[1] == '6')) {
    in.seekg(0);
    return detail::read_pnm(in, path);
  }
  return detail::read_png(path);
}

/// Writes PNG where the name ends in .png, else binary PNM. Throws std::runtime_error that names the file.
inline void write_image(std::string const& path, Image const& image) {
  if (path.size() >= 4 && path.substr(path.size() - 4) == ".png") {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.width);
    png.height = static_cast<png_uint_32>(image.height);
    png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    if (png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr) == 0)
      throw std::runtime_error(path + ": " + png.message);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << (image.channels == 1 ? "P5\n" : "P6\n") << image.width << ' ' << image.height << "\n255\n";
  out.write(reinterpret_cast<char const*>(image.pixels.data()), static_cast<std::streamsize>(image.pixels.size()));
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

/// Returns channel-major float planes in [0, 1], the form that the kernels read.
inline std::vector<float> to_planes(Image const& image) {
  std::vector<float> planes;
  planes.reserve(image.pixels.size());
  for (int c = 0; c < image.channels; ++c)
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width; ++x)
        planes.push_back(static_cast<float>(image.pixels[image.at(c, y, x)]) / 255.0F);
  return planes;
}

/// Reverses to_planes: values are clamped to [0, 1] and rounded.
inline Image from_planes(std::vector<float> const& planes, int width, int height, int channels) {
  Image image = detail::blank(width, height, channels, "from_planes");
  std::size_t i = 0;
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        float const value = planes[i++];
        float const clamped = value < 0.0F ? 0.0F : value > 1.0F ? 1.0F : value;
        image.pixels[image.at(c, y, x)] = static_cast<std::uint8_t>(clamped * 255.0F + 0.5F);
      }
  return image;
}

}  // namespace samples
