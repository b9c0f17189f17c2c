"""Modules that are those of torch.nn, and take their state dicts, but for what computes them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import detreduce.torch as drt

from ._mode import OF_CLASSES, _wide


def _cast(names: str, input: Any, *others: Any) -> tuple:
    """In the dtype in which autocast would have one of these ops of torch computed."""
    return _wide(names, input, *others) if isinstance(input, Tensor) else (input, *others)


class MSELoss(nn.MSELoss):
    def forward(self, input, target) -> Tensor:
        input, target = _cast("mse_loss", input, target)
        return drt.mse_loss(input, target, self.reduction)


class L1Loss(nn.L1Loss):
    def forward(self, input, target) -> Tensor:
        input, target = _cast("l1_loss", input, target)
        return drt.l1_loss(input, target, self.reduction)


class HuberLoss(nn.HuberLoss):
    def forward(self, input, target) -> Tensor:
        input, target = _cast("huber_loss", input, target)
        return drt.huber_loss(input, target, self.reduction, self.delta)


class SmoothL1Loss(nn.SmoothL1Loss):
    def forward(self, input, target) -> Tensor:
        input, target = _cast("smooth_l1_loss", input, target)
        return drt.smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(nn.BCELoss):
    def forward(self, input, target) -> Tensor:
        input, target, weight = _cast("binary_cross_entropy", input, target, self.weight)
        return drt.binary_cross_entropy(input, target, weight, self.reduction)


class BCEWithLogitsLoss(nn.BCEWithLogitsLoss):
    def forward(self, input, target) -> Tensor:
        input, target, weight = _cast("binary_cross_entropy_with_logits", input, target, self.weight)
        return drt.binary_cross_entropy_with_logits(input, target, weight, self.reduction, self.pos_weight)


class KLDivLoss(nn.KLDivLoss):
    def forward(self, input, target) -> Tensor:
        input, target = _cast("kl_div", input, target)
        return drt.kl_div(input, target, self.reduction, self.log_target)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    def forward(self, input, target) -> Tensor:
        input, target, weight = _cast(OF_CLASSES["cross_entropy"], input, target, self.weight)
        return drt.cross_entropy(
            input, target, weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(nn.NLLLoss):
    def forward(self, input, target) -> Tensor:
        input, target, weight = _cast(OF_CLASSES["nll_loss"], input, target, self.weight)
        return drt.nll_loss(input, target, weight, self.ignore_index, self.reduction)


def _of_rows(norm: Any, x: Any, shape: Any, weight: Any, *more: Any) -> Tensor:
    """As torch has it: of 16-bit elements and a float32 weight in float32, and rounded."""
    short = isinstance(x, Tensor) and x.dtype in (torch.float16, torch.bfloat16)
    if short and weight is not None and weight.dtype is torch.float32:
        return norm(x.float(), shape, weight, *more).to(x.dtype)
    return norm(x, shape, weight, *more)


class LayerNorm(nn.LayerNorm):
    def forward(self, input) -> Tensor:
        input, weight, bias = _cast("layer_norm", input, self.weight, self.bias)
        return _of_rows(drt.layer_norm, input, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(nn.RMSNorm):
    def forward(self, x) -> Tensor:
        x, weight = _cast("rms_norm", x, self.weight)
        return _of_rows(drt.rms_norm, x, self.normalized_shape, weight, self.eps)


class GroupNorm(nn.GroupNorm):
    def forward(self, input) -> Tensor:
        input, weight, bias = _cast("group_norm", input, self.weight, self.bias)
        return drt.group_norm(input, self.num_groups, weight, bias, self.eps)


def _batch_norm(self, input):
    """torch.nn.BatchNorm's forward, which has the momentum and what is tracked."""
    self._check_input_dim(input)
    momentum = 0.0 if self.momentum is None else self.momentum
    if self.training and self.track_running_stats and self.num_batches_tracked is not None:
        self.num_batches_tracked.add_(1)
        if self.momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked)
    batch = self.training or (self.running_mean is None and self.running_var is None)
    running = (self.running_mean, self.running_var)
    if self.training and not self.track_running_stats:
        running = (None, None)
    return drt.batch_norm(input, *running, self.weight, self.bias, batch, momentum, self.eps)


class BatchNorm1d(nn.BatchNorm1d):
    forward = _batch_norm


class BatchNorm2d(nn.BatchNorm2d):
    forward = _batch_norm


class BatchNorm3d(nn.BatchNorm3d):
    forward = _batch_norm


def _dim(self: Any, name: str, input: Any) -> Any:
    """Where none was given that of torch, with its warning."""
    return self.dim if self.dim is not None else getattr(F, "_get_softmax_dim")(name, input.dim(), 4)


class Softmax(nn.Softmax):
    def forward(self, input) -> Tensor:
        (input,) = _cast("softmax.int", input)
        return drt.softmax(input, _dim(self, "softmax", input))


class LogSoftmax(nn.LogSoftmax):
    def forward(self, input) -> Tensor:
        (input,) = _cast("log_softmax.int", input)
        return drt.log_softmax(input, _dim(self, "log_softmax", input))
