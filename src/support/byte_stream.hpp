#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

// Small values as bytes, to be sent between ranks of one program (same build, same machine type).
// A struct takes part by a function visit_members(value, visitor) beside it, which calls visitor
// with its members; the same function serves both directions, for a value that is MaybeConst<T>.

namespace unisono {

template <class Value, class Type>
concept MaybeConst = std::is_same_v<std::remove_const_t<Value>, Type>;

template <class T>
concept PlainBytes = std::is_trivially_copyable_v<T>;

template <class T>
concept ByteContainer = std::ranges::sized_range<T> && !PlainBytes<T>;

class ByteWriter {
public:
    template <class... Members>
    void operator()(Members const&... members) {
        (write(members), ...);
    }

    std::vector<std::byte> bytes;

private:
    template <class T>
    void write(T const& value) {
        if constexpr (PlainBytes<T>) {
            auto const* const begin = reinterpret_cast<std::byte const*>(&value);
            bytes.insert(bytes.end(), begin, begin + sizeof value);
        } else if constexpr (ByteContainer<T>) {
            write(static_cast<std::uint64_t>(value.size()));
            for (auto const& element : value) write(element);
        } else {
            visit_members(value, *this);
        }
    }
    template <class First, class Second>
    void write(std::pair<First, Second> const& value) {
        (*this)(value.first, value.second);
    }
};

/// Once the bytes have run out, values stay as they are and complete() is false.
class ByteReader {
public:
    explicit ByteReader(std::span<std::byte const> bytes) : rest_(bytes) {}

    template <class... Members>
    void operator()(Members&... members) {
        (read(members), ...);
    }

    /// Nothing was missing and nothing is left over.
    [[nodiscard]] bool complete() const { return intact_ && rest_.empty(); }

private:
    template <class T>
    void read(T& value) {
        if constexpr (PlainBytes<T>) {
            intact_ = intact_ && sizeof value <= rest_.size();
            if (!intact_) return;
            std::memcpy(&value, rest_.data(), sizeof value);
            rest_ = rest_.subspan(sizeof value);
        } else if constexpr (ByteContainer<T>) {
            read_elements(value);
        } else {
            visit_members(value, *this);
        }
    }
    template <class First, class Second>
    void read(std::pair<First, Second>& value) {
        (*this)(value.first, value.second);
    }
    template <class Container>
    void read_elements(Container& container) {
        std::uint64_t count = 0;
        read(count);
        if (intact_) container.clear();  // defaults such as "auto" give way
        for (std::uint64_t i = 0; i < count && intact_; ++i) {
            if constexpr (requires { typename Container::mapped_type; }) {
                std::pair<typename Container::key_type, typename Container::mapped_type> entry;
                read(entry);
                container.insert(std::move(entry));
            } else {
                typename Container::value_type element{};
                read(element);
                container.push_back(std::move(element));
            }
        }
    }

    std::span<std::byte const> rest_;
    bool intact_ = true;
};

template <class T>
std::vector<std::byte> bytes_of(T const& value) {
    ByteWriter writer;
    writer(value);
    return std::move(writer.bytes);
}

template <class T>
std::optional<T> value_from_bytes(std::span<std::byte const> bytes) {
    T value{};
    ByteReader reader(bytes);
    reader(value);
    if (!reader.complete()) return std::nullopt;
    return value;
}

}  // namespace unisono
