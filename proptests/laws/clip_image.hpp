// Tensors of a list somewhere in one piece of memory, with a pattern between them that must stay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/plan.hpp>

#include "laws/any_vector.hpp"

namespace detreduce::proptests {

using State = std::vector<std::int64_t>; ///< its words

class Image {
  public:
    /// `word` says how far tensors are from each other: each is aligned to its element, and often
    /// no more.
    Image(const std::vector<AnyVector>& list, std::uint64_t word) {
        std::size_t end = 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::size_t element = size_of(list[i].dtype);
            const std::size_t begin = (end + element - 1) / element * element + accuracy::hash(word, i) % 9 * element;
            places_.push_back({begin, list[i].n(), list[i].dtype});
            end = begin + list[i].bytes.size();
        }
        memory_.assign(end / 8 + 2, pattern);
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].n() > 0) std::memcpy(data() + places_[i].begin, list[i].bytes.data(), list[i].bytes.size());
        }
    }
    [[nodiscard]] char* data() { return reinterpret_cast<char*>(memory_.data()); }
    [[nodiscard]] std::size_t bytes() const { return memory_.size() * 8; }
    [[nodiscard]] std::uint64_t elements() const {
        std::uint64_t n = 0;
        for (const Place& p : places_)
            n += p.n;
        return n;
    }
    /// The list, in a copy of this memory at `base`.
    [[nodiscard]] std::vector<Tensor> list_at(char* base) const {
        std::vector<Tensor> list;
        for (const Place& p : places_)
            list.push_back({base + p.begin, p.n, p.dtype});
        return list;
    }
    /// What is there now. Throws where something else was written.
    [[nodiscard]] std::vector<AnyVector> tensors() {
        std::vector<AnyVector> list;
        std::size_t end = 0;
        for (const Place& p : places_) {
            check_pattern(end, p.begin);
            end = p.begin + p.n * size_of(p.dtype);
            const auto* const from = reinterpret_cast<const std::byte*>(data());
            list.push_back({p.dtype, {from + p.begin, from + end}});
        }
        check_pattern(end, bytes());
        return list;
    }

  private:
    struct Place {
        std::size_t begin;
        std::uint64_t n;
        DType dtype;
    };
    static constexpr std::uint64_t pattern = 0xa5a5a5a5a5a5a5a5;
    void check_pattern(std::size_t from, std::size_t to) {
        if (!std::all_of(data() + from, data() + to, [](char c) { return c == static_cast<char>(0xa5); }))
            throw std::runtime_error("written beside the tensors");
    }
    std::vector<Place> places_;
    std::vector<std::uint64_t> memory_;
};

} // namespace detreduce::proptests
