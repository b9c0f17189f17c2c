#pragma once
#include <detreduce/math/functions.hpp>
#include <detreduce/math/exp.hpp>
#include <detreduce/math/log.hpp>
#include <detreduce/math/rsqrt.hpp>
#include <detreduce/math/sigmoid.hpp>
