"""Modules that are those of torch.nn, and take their state dicts, but for what computes them."""

from __future__ import annotations

from torch import Tensor, nn

import detreduce.torch as drt


class MSELoss(nn.MSELoss):
    def forward(self, input, target) -> Tensor:
        return drt.mse_loss(input, target, self.reduction)


class L1Loss(nn.L1Loss):
    def forward(self, input, target) -> Tensor:
        return drt.l1_loss(input, target, self.reduction)


class HuberLoss(nn.HuberLoss):
    def forward(self, input, target) -> Tensor:
        return drt.huber_loss(input, target, self.reduction, self.delta)


class SmoothL1Loss(nn.SmoothL1Loss):
    def forward(self, input, target) -> Tensor:
        return drt.smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(nn.BCELoss):
    def forward(self, input, target) -> Tensor:
        return drt.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(nn.BCEWithLogitsLoss):
    def forward(self, input, target) -> Tensor:
        return drt.binary_cross_entropy_with_logits(
            input, target, self.weight, self.reduction, self.pos_weight
        )


class KLDivLoss(nn.KLDivLoss):
    def forward(self, input, target) -> Tensor:
        return drt.kl_div(input, target, self.reduction, self.log_target)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    def forward(self, input, target) -> Tensor:
        return drt.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(nn.NLLLoss):
    def forward(self, input, target) -> Tensor:
        return drt.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class LayerNorm(nn.LayerNorm):
    def forward(self, input) -> Tensor:
        return drt.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.RMSNorm):
    def forward(self, x) -> Tensor:
        return drt.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(nn.GroupNorm):
    def forward(self, input) -> Tensor:
        return drt.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


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


class Softmax(nn.Softmax):
    def forward(self, input) -> Tensor:
        return drt.softmax(input, -1 if self.dim is None else self.dim)


class LogSoftmax(nn.LogSoftmax):
    def forward(self, input) -> Tensor:
        return drt.log_softmax(input, -1 if self.dim is None else self.dim)
