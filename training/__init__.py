"""Training: recipes, data, the loop, its callbacks and reports.

Recipes can be listed and read without TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .recipe import list_recipes, load_recipe, recipe_toml
from .sections import Recipe

if TYPE_CHECKING:
    from . import augmentation, averaging, callbacks, data, losses, schedules, text_metrics
    from .comparison import Comparison, compare
    from .diagnosis import diagnose
    from .distillation import Distillation, distil
    from .doctor import Finding
    from .evaluation import Evaluation, evaluate
    from .features import Features, extract_features, load_features
    from .few_labels import ShortTraining
    from .finetuning import finetune
    from .freezing import freeze, unfreeze
    from .layer_rates import with_layer_rates
    from .lora import add_lora, merge_lora
    from .multi_task import fit_tasks, multi_task_model, task_accuracies
    from .probes import Probe, linear_probe, nearest_neighbours
    from .pseudo_labels import pseudo_label_rounds
    from .rate_range import RateRange, find_rate
    from .rematerialisation import rematerialise
    from .running import RunInterrupted, RunResult, run
    from .self_supervised import pretrain
    from .sequence_evaluation import SequenceEvaluation
    from .snapshots import ensemble_probabilities
    from .tuning import SearchFailed, SearchInterrupted, TuneResult, tune

__all__ = [
    "Comparison",
    "Distillation",
    "Evaluation",
    "Features",
    "Finding",
    "Probe",
    "RateRange",
    "Recipe",
    "RunInterrupted",
    "RunResult",
    "SearchFailed",
    "SearchInterrupted",
    "SequenceEvaluation",
    "ShortTraining",
    "TuneResult",
    "add_lora",
    "augmentation",
    "averaging",
    "callbacks",
    "compare",
    "data",
    "diagnose",
    "distil",
    "ensemble_probabilities",
    "evaluate",
    "extract_features",
    "find_rate",
    "finetune",
    "fit_tasks",
    "freeze",
    "linear_probe",
    "list_recipes",
    "load_features",
    "load_recipe",
    "losses",
    "merge_lora",
    "multi_task_model",
    "nearest_neighbours",
    "pretrain",
    "pseudo_label_rounds",
    "recipe_toml",
    "rematerialise",
    "run",
    "schedules",
    "task_accuracies",
    "text_metrics",
    "tune",
    "unfreeze",
    "with_layer_rates",
]

# a module may not be called like a function here: importing `run.py` would put the module in the function's place
_HOMES = {
    "Comparison": "comparison",
    "Distillation": "distillation",
    "Features": "features",
    "Probe": "probes",
    "ShortTraining": "few_labels",
    "distil": "distillation",
    "extract_features": "features",
    "fit_tasks": "multi_task",
    "linear_probe": "probes",
    "load_features": "features",
    "multi_task_model": "multi_task",
    "nearest_neighbours": "probes",
    "pretrain": "self_supervised",
    "pseudo_label_rounds": "pseudo_labels",
    "task_accuracies": "multi_task",
    "Evaluation": "evaluation",
    "Finding": "doctor",
    "RateRange": "rate_range",
    "compare": "comparison",
    "diagnose": "diagnosis",
    "ensemble_probabilities": "snapshots",
    "find_rate": "rate_range",
    "add_lora": "lora",
    "merge_lora": "lora",
    "finetune": "finetuning",
    "freeze": "freezing",
    "RunInterrupted": "running",
    "RunResult": "running",
    "SearchFailed": "tuning",
    "SearchInterrupted": "tuning",
    "SequenceEvaluation": "sequence_evaluation",
    "TuneResult": "tuning",
    "evaluate": "evaluation",
    "rematerialise": "rematerialisation",
    "run": "running",
    "tune": "tuning",
    "unfreeze": "freezing",
    "with_layer_rates": "layer_rates",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
