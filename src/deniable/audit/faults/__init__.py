"""NOT PRIVATE. Forty mechanisms that are wrong on purpose: what the auditor must find.

Each is a class that states the claim it breaks, a pair of neighbours and the event that gives it away. None may ever see real data.
"""

from deniable.audit.faults.data_faults import (
    AmplificationWithoutSecrecy,
    CheckAfterRun,
    DeltaNotSplit,
    DomainFromData,
    DoubleSpend,
    KeyLeak,
    PartsByRowOrder,
    QuantileCandidatesFromData,
    SwappedResponse,
    ThresholdWithoutNoise,
)
from deniable.audit.faults.fault import Fault
from deniable.audit.faults.noise_faults import (
    ClassicSigma,
    DataDependentRounding,
    DrawnOnce,
    EpsilonAsScale,
    FloatGaussian,
    FloatLaplace,
    HalfScale,
    NineTenthsScale,
    NoiseReused,
    SeededByQuery,
    SharedByFork,
    TruncatedWithoutFolding,
    WrongRenyiConstant,
)
from deniable.audit.faults.selection_faults import (
    NoisyMaxValue,
    SparseNoiseNotScaled,
    SparseReturnsValue,
    SparseWithoutCutOff,
    SparseWithoutQueryNoise,
)
from deniable.audit.faults.sensitivity_faults import (
    BatchSizeDivisor,
    ChangeOneForAddRemove,
    ClipAfterSum,
    FirstRowsAcrossUnits,
    HalvedScoreSensitivity,
    NanThroughClip,
    PerBatchClipping,
    SaturatingReordered,
    SensitivityZero,
    SquaredBound,
    TrueDivisor,
    UnboundedContribution,
)

PLANTED: tuple[type[Fault], ...] = (
    HalfScale,
    NineTenthsScale,
    EpsilonAsScale,
    TruncatedWithoutFolding,
    ClassicSigma,
    WrongRenyiConstant,
    FloatLaplace,
    FloatGaussian,
    DataDependentRounding,
    NoiseReused,
    SeededByQuery,
    SharedByFork,
    DrawnOnce,
    ChangeOneForAddRemove,
    ClipAfterSum,
    SquaredBound,
    SaturatingReordered,
    FirstRowsAcrossUnits,
    BatchSizeDivisor,
    PerBatchClipping,
    SensitivityZero,
    TrueDivisor,
    NanThroughClip,
    UnboundedContribution,
    HalvedScoreSensitivity,
    NoisyMaxValue,
    SparseWithoutQueryNoise,
    SparseWithoutCutOff,
    SparseNoiseNotScaled,
    SparseReturnsValue,
    KeyLeak,
    ThresholdWithoutNoise,
    DeltaNotSplit,
    QuantileCandidatesFromData,
    DomainFromData,
    PartsByRowOrder,
    SwappedResponse,
    AmplificationWithoutSecrecy,
    DoubleSpend,
    CheckAfterRun,
)
"""All forty."""

__all__ = ["PLANTED", "Fault"]
