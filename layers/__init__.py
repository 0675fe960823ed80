"""Building blocks of the canon, one concept a file."""

from .activations import gelu_tanh, scaled_tanh
from .adaptive_pooling import AdaptiveAveragePooling2D, AdaptiveMaxPooling2D
from .additive_attention import AdditiveAttention
from .attention_decoder import AttentionDecoder
from .attention_masks import causal_mask
from .auxiliary_head import AuxiliaryHead
from .bidirectional import Bidirectional
from .class_maps import ClassMaps2D
from .class_token import ClassToken
from .connection_table import LENET5_C3_TABLE, ConnectionTableConv2D
from .conv_norm_activation import ConvNormActivation, DepthwiseConvNormActivation
from .convnext_block import ConvNeXtBlock
from .ctc_decode import CTCBeams, ctc_beam_decode, ctc_greedy_decode
from .ctc_loss import ctc_feasible, ctc_loss
from .dense_block import DenseBlock, DenseBlockLayer, TransitionBlock
from .depthwise_separable import DepthwiseSeparableConv2D
from .drop_connect import DropConnectDense
from .echo_state import EchoStateCell
from .elman_cell import ElmanCell
from .ensemble_average import EnsembleAverage
from .feedforward import FeedForward
from .fire import FireModule
from .first_step import FirstStep
from .gated_convolution import GatedConv1D, GatedConv2D, gated_linear_unit
from .global_pooling import GlobalPooling
from .group_normalization import GroupNormalization
from .grouped_convolution import GroupedConv2D
from .gru import GRU
from .gru_cell import GRUCell
from .highway import HighwayConv2D, HighwayDense
from .inception import InceptionModule
from .inception_v3 import InceptionV3A, InceptionV3C, InceptionV3E
from .inception_v3_reduction import InceptionV3B, InceptionV3D
from .initializers import LeCunFanInUniform, RandomSigns, SinusoidalGrid, fresh_initializer
from .instance_normalization import InstanceNormalization
from .inverted_residual import InvertedResidual
from .jordan_cell import JordanCell
from .leaky_cell import LeakyIntegratorCell
from .learned_position import LearnedPositionEmbedding
from .local_attention import LocalAttention
from .local_response_normalization import LocalResponseNormalization
from .location_aware_attention import LocationAwareAttention
from .lp_pooling import LpPooling2D
from .lstm import LSTM
from .lstm_cell import LSTMCell
from .masked_softmax import masked_softmax
from .maxout import MaxoutConv2D, MaxoutDense
from .minimum_steps import MinimumSteps
from .mlpconv import MlpConv2D
from .monotonic_attention import MonotonicAttention
from .multi_head_attention import MultiHeadAttention
from .multiplicative_attention import MultiplicativeAttention
from .norm_activation_conv import NormActivationConv
from .padding import SymmetricPadding2D
from .patch_embedding import PatchEmbedding
from .pointwise import PointwiseConv2D
from .pre_activation import PreActivationBottleneckBlock, PreActivationResidualBlock
from .pyramidal import PyramidalRNN
from .rbf_output import RBFOutput
from .relative_bias import RelativePositionBias, relative_position_bucket
from .residual import BottleneckResidualBlock, ResidualBlock
from .rotary import RotaryEmbedding
from .rounded_width import rounded_width
from .scaled_dot_product_attention import scaled_dot_product_attention
from .scheduled_dropout import ScheduledDropout
from .segment_embedding import SegmentEmbedding
from .sinusoidal_position import SinusoidalPositionEncoding
from .spatial_pooling import SpatialPooling2D
from .squeeze_excite import SqueezeExcite
from .stacked import StackedRNN
from .stochastic_depth import StochasticDepth
from .token_embedding import TokenEmbedding
from .torch_layout import elman_from_torch, gru_from_torch, lstm_from_torch
from .trainable_subsampling import TrainableSubsampling2D
from .transformer_decoder import TransformerDecoderBlock
from .transformer_encoder import TransformerEncoderBlock
from .weight_normalization import WeightNormalization

__all__ = [
    "GRU",
    "LENET5_C3_TABLE",
    "LSTM",
    "AdaptiveAveragePooling2D",
    "AdaptiveMaxPooling2D",
    "AdditiveAttention",
    "AttentionDecoder",
    "AuxiliaryHead",
    "Bidirectional",
    "BottleneckResidualBlock",
    "CTCBeams",
    "ClassMaps2D",
    "ClassToken",
    "ConnectionTableConv2D",
    "ConvNeXtBlock",
    "ConvNormActivation",
    "DenseBlock",
    "DenseBlockLayer",
    "DepthwiseConvNormActivation",
    "DepthwiseSeparableConv2D",
    "DropConnectDense",
    "EchoStateCell",
    "ElmanCell",
    "EnsembleAverage",
    "FeedForward",
    "FireModule",
    "FirstStep",
    "GRUCell",
    "GatedConv1D",
    "GatedConv2D",
    "GlobalPooling",
    "GroupNormalization",
    "GroupedConv2D",
    "HighwayConv2D",
    "HighwayDense",
    "InceptionModule",
    "InceptionV3A",
    "InceptionV3B",
    "InceptionV3C",
    "InceptionV3D",
    "InceptionV3E",
    "InstanceNormalization",
    "InvertedResidual",
    "JordanCell",
    "LSTMCell",
    "LeCunFanInUniform",
    "LeakyIntegratorCell",
    "LearnedPositionEmbedding",
    "LocalAttention",
    "LocalResponseNormalization",
    "LocationAwareAttention",
    "LpPooling2D",
    "MaxoutConv2D",
    "MaxoutDense",
    "MinimumSteps",
    "MlpConv2D",
    "MonotonicAttention",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "NormActivationConv",
    "PatchEmbedding",
    "PointwiseConv2D",
    "PreActivationBottleneckBlock",
    "PreActivationResidualBlock",
    "PyramidalRNN",
    "RBFOutput",
    "RandomSigns",
    "RelativePositionBias",
    "ResidualBlock",
    "RotaryEmbedding",
    "ScheduledDropout",
    "SegmentEmbedding",
    "SinusoidalGrid",
    "SinusoidalPositionEncoding",
    "SpatialPooling2D",
    "SqueezeExcite",
    "StackedRNN",
    "StochasticDepth",
    "SymmetricPadding2D",
    "TokenEmbedding",
    "TrainableSubsampling2D",
    "TransformerDecoderBlock",
    "TransformerEncoderBlock",
    "TransitionBlock",
    "WeightNormalization",
    "causal_mask",
    "ctc_beam_decode",
    "ctc_feasible",
    "ctc_greedy_decode",
    "ctc_loss",
    "elman_from_torch",
    "fresh_initializer",
    "gated_linear_unit",
    "gelu_tanh",
    "gru_from_torch",
    "lstm_from_torch",
    "masked_softmax",
    "relative_position_bucket",
    "rounded_width",
    "scaled_dot_product_attention",
    "scaled_tanh",
]
