// Host memory as the laws of backends see an array.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace detreduce::proptests {

/// A copy that begins `offset` elements after a boundary of 64 bytes, or, empty, null.
template <class T>
class Askew {
  public:
    Askew(const std::vector<T>& x, unsigned offset) : n_(x.size()), room_(x.size() * sizeof(T) + 512) {
        const auto start = reinterpret_cast<std::uintptr_t>(room_.data());
        char* const at = room_.data() + (64 - start % 64) + offset * sizeof(T);
        data_ = x.empty() ? nullptr : reinterpret_cast<T*>(at);
        if (!x.empty()) std::memcpy(at, x.data(), x.size() * sizeof(T));
    }
    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::vector<T> fetched() const { return {data_, data_ + n_}; }

  private:
    std::size_t n_;
    std::vector<char> room_;
    T* data_;
};

} // namespace detreduce::proptests
