// The keys of results.json, each written once: `fields(visitor, value)` calls visitor(key, member)
// for every member. The writer, the reader and the CSV files all use this list.
// `visitor.optional(key, member)`: a key that files may lack.
#pragma once

#include "model.hpp"
#include "published.hpp"

namespace detreduce::report {

template <class V>
void fields(V& visit, Gpu& g) {
    visit("name", g.name);
    visit("compute_capability", g.compute_capability);
    visit("multiprocessors", g.multiprocessors);
    visit("memory_bytes", g.memory_bytes);
    visit("l2_bytes", g.l2_bytes);
    visit("peak_gb_per_s", g.peak_gb_per_s);
    visit("driver", g.driver);
    visit("toolkit", g.toolkit);
    visit("cub", g.cub);
}

template <class V>
void fields(V& visit, Provenance& p) {
    visit("created", p.created);
    visit("command", p.command);
    visit("mode", p.mode);
    visit("seed", p.seed);
    visit("version", p.version);
    visit("spec_version", p.spec_version);
    visit("commit", p.commit);
    visit("dirty", p.dirty);
    visit("compiler", p.compiler);
    visit("flags", p.flags);
    visit("cpu", p.cpu);
    visit("cpu_threads", p.cpu_threads);
    visit("isa", p.isa);
    visit("system", p.system);
    visit("device", p.device);
    visit("device_choice", p.device_choice);
    visit("gpu", p.gpu);
    visit("notes", p.notes);
    visit.optional("incomplete", p.incomplete);
}

template <class V>
void fields(V& visit, Subject& s) {
    visit("op", s.op);
    visit("shape", s.shape);
    visit("dtype", s.dtype);
    visit("output", s.output);
    visit("method", s.method);
    visit("device", s.device);
}

template <class V>
void fields(V& visit, ErrorRow& r) {
    fields(visit, r.subject);
    visit("family", r.family);
    visit("n", r.n);
    visit("trials", r.trials);
    visit("correctly_rounded", r.correctly_rounded);
    visit("error_ulp", r.error_ulp);
    visit("relative_error", r.relative_error);
    visit("bound", r.bound);
    visit("error_over_bound", r.error_over_bound);
    visit("condition", r.condition);
}

template <class V>
void fields(V& visit, EdgeRow& r) {
    visit("data", r.data);
    visit("dtype", r.dtype);
    visit("n", r.n);
    visit("exact", r.exact);
    visit("candidate", r.candidate);
    visit("device", r.device);
    visit("result", r.result);
    visit("right", r.right);
}

template <class V>
void fields(V& visit, Pattern& p) {
    visit("bits", p.bits);
    visit("count", p.count);
}

template <class V>
void fields(V& visit, DeterminismRow& r) {
    fields(visit, r.subject);
    visit("axis", r.axis);
    visit("varied", r.varied);
    visit("family", r.family);
    visit("n", r.n);
    visit("promised", r.promised);
    visit("runs", r.runs);
    visit("distinct", r.distinct);
    visit("spread_ulp", r.spread_ulp);
    visit.optional("patterns", r.patterns);
}

template <class V>
void fields(V& visit, CostRow& r) {
    visit("dtype", r.dtype);
    visit("candidate", r.candidate);
    visit("variant", r.variant);
    visit("device", r.device);
    visit("data", r.data);
    visit("n", r.n);
    visit("bytes", r.bytes);
    visit("repeats", r.repeats);
    visit("median_s", r.median_s);
    visit("deviation", r.deviation);
    visit("gb_per_s", r.gb_per_s);
    visit("ratio_to_read", r.ratio_to_read);
}

template <class V>
void fields(V& visit, LadderRow& r) {
    visit("table", r.table);
    visit("family", r.family);
    visit("rung", r.rung);
    visit("title", r.title);
    visit("n", r.n);
    visit("rows", r.rows);
    visit("threads", r.threads);
    visit("per_thread", r.per_thread);
    visit("coalesced", r.coalesced);
    visit("repeats", r.repeats);
    visit("median_s", r.median_s);
    visit("deviation", r.deviation);
    visit("gb_per_s", r.gb_per_s);
    visit("ratio_to_read", r.ratio_to_read);
    visit("guarantee", r.guarantee);
    visit("passes", r.passes);
    visit("launches", r.launches);
    visit("runs", r.runs);
    visit("distinct", r.distinct);
    visit("error_ulp", r.error_ulp);
    visit("note", r.note);
}

template <class V>
void fields(V& visit, DataRow& r) {
    visit("file", r.file);
    visit("dtype", r.dtype);
    visit("n", r.n);
    visit("fingerprint", r.fingerprint);
    visit("least", r.least);
    visit("greatest", r.greatest);
    visit("smallest", r.smallest);
    visit("nans", r.nans);
    visit("infinities", r.infinities);
    visit("sum", r.sum);
    visit("condition", r.condition);
}

template <class V>
void fields(V& visit, DataSumRow& r) {
    visit("file", r.file);
    fields(visit, r.subject);
    visit("result", r.result);
    visit("bits", r.bits);
    visit("correctly_rounded", r.correctly_rounded);
    visit("error_ulp", r.error_ulp);
    visit("relative_error", r.relative_error);
    visit("bound", r.bound);
    visit("error_over_bound", r.error_over_bound);
}

template <class V>
void fields(V& visit, ReferenceRow& r) {
    fields(visit, r.subject);
    visit("family", r.family);
    visit("n", r.n);
    visit("seed", r.seed);
    visit("bits", r.bits);
}

template <class V>
void fields(V& visit, OpCostRow& r) {
    visit("op", r.op);
    visit("shape", r.shape);
    visit("dtype", r.dtype);
    visit("candidate", r.candidate);
    visit("variant", r.variant);
    visit("device", r.device);
    visit("n", r.n);
    visit("bytes", r.bytes);
    visit("repeats", r.repeats);
    visit("median_s", r.median_s);
    visit("deviation", r.deviation);
    visit("gb_per_s", r.gb_per_s);
    visit("ratio_to_read", r.ratio_to_read);
}

template <class V>
void fields(V& visit, OwnRow& r) {
    visit("name", r.name);
    visit("dtype", r.dtype);
    visit("device", r.device);
    visit("guarantee", r.guarantee);
}

template <class V>
void fields(V& visit, PublishedRow& r) {
    visit("source", r.source);
    visit("gpu", r.gpu);
    visit("peak_gb_per_s", r.peak_gb_per_s);
    visit("table", r.table);
    visit("rung", r.rung);
    visit("threads", r.threads);
    visit("per_thread", r.per_thread);
    visit("coalesced", r.coalesced);
    visit("gb_per_s", r.gb_per_s);
}

} // namespace detreduce::report
