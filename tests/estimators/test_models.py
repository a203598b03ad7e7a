"""Models on disk: loaded, they predict the same; changed, they are refused."""

import functools
import hashlib
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from small import (
    ALL,
    autoencoder,
    classifier,
    fitted,
    frame,
    history_of,
    imputer,
    numbers,
    predictions,
    regressor,
)

import lacunet
from lacunet import IncompleteGaussianMixture
from lacunet.estimators._saving import pack_array, seal, unpack_array
from lacunet.exceptions import LacunetError

every = pytest.mark.parametrize("name", ALL)


def again(model, folder):
    model.save(folder / "model", force=True)
    return lacunet.load(folder / "model")


@pytest.fixture
def model_of(tmp_path):
    """Return a function that saves a fitted model and returns its folder."""

    def save(name, table=frame):
        fitted(name, table).save(tmp_path / name)
        return tmp_path / name

    return save


# --- what comes back


@every
@pytest.mark.parametrize("table", [frame, numbers], ids=["frame", "array"])
def test_a_loaded_model_predicts_the_same_to_the_bit(name, table, tmp_path):
    X, _ = table()
    model = fitted(name, table)
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(predictions(loaded, X), predictions(model, X))
    one, two = (np.asarray(m.impute(X), dtype=object) for m in (loaded, model))
    np.testing.assert_array_equal(one, two)
    assert history_of(loaded) == history_of(model)


@every
def test_parameters_and_fitted_attributes_come_back(name, tmp_path):
    model = fitted(name, frame)
    loaded = again(model, tmp_path)
    assert repr(loaded) == repr(model)
    assert loaded.n_features_in_ == 7
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        predictions(loaded, frame()[0].rename(columns={"day": "date"}))


@every
def test_a_loaded_model_can_be_fitted_and_saved_again(name, tmp_path):
    X, y = numbers()
    model = fitted(name)
    loaded = again(model, tmp_path)
    expected = predictions(model, X)
    np.testing.assert_array_equal(predictions(loaded.fit(X, y), X), expected)
    assert len(again(again(model, tmp_path), tmp_path).impute(X)) == 60


def test_draws_go_through_a_loaded_model(tmp_path):
    X, y = frame()
    model = classifier(propagate="sample", n_samples=4, indicator=True).fit(X, y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": {0: 1.0, 1: 2.0}},
        {"density": IncompleteGaussianMixture(2, covariance_type="factor", rank=1)},
        {"density": IncompleteGaussianMixture(2, covariance_type="full")},
        {"random_state": np.random.RandomState(0)},
        {"hidden_layer_sizes": [8, 4], "n_networks": np.int64(3)},
        {"time_limit": 100.0, "batch_size": 16, "activation": "relu"},
    ],
)
def test_parameters_of_all_kinds_come_back(options, tmp_path):
    X, y = numbers()
    model = classifier(max_epochs=1).set_params(**options).fit(X, y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_two_activations_come_back(tmp_path):
    X, _ = numbers()
    model = autoencoder(activation=("relu", "sigmoid"), out_activation="tanh").fit(X)
    np.testing.assert_array_equal(
        again(model, tmp_path).transform(X), model.transform(X)
    )


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "ja, aber ß"], dtype=object),
        np.array([0.0, 1.0]),
        np.array([-1, 1], dtype=np.int8),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_of_any_type_come_back(classes, tmp_path):
    X, y = numbers()
    model = classifier(max_epochs=1).fit(X, classes[y])
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_targets_of_a_regression_come_back_in_their_units_and_shape(tmp_path):
    X, y = numbers()
    for target in (y * 1e6, np.column_stack([y, -y])):
        model = regressor().fit(X, target)
        np.testing.assert_array_equal(
            again(model, tmp_path).predict(X), model.predict(X)
        )


def test_a_model_with_an_empty_column_comes_back(tmp_path):
    X, _ = numbers()
    X[:, 1] = np.nan
    with pytest.warns(UserWarning, match="without one observed value"):
        model = imputer().fit(X)
    np.testing.assert_array_equal(again(model, tmp_path).impute(X), model.impute(X))


@pytest.mark.slow
def test_another_process_predicts_the_same(model_of):
    X, _ = numbers()
    folder = model_of("classifier", numbers)
    np.save(folder.parent / "X.npy", X)
    code = (
        "import sys, numpy as np, lacunet; folder = sys.argv[1]; "
        "X = np.load(folder + '/X.npy'); model = lacunet.load(folder + '/classifier'); "
        "np.save(folder + '/y.npy', model.predict_proba(X))"
    )
    command = [sys.executable, "-c", code, str(folder.parent)]
    subprocess.run(command, check=True)
    expected = fitted("classifier").predict_proba(X)
    np.testing.assert_array_equal(np.load(folder.parent / "y.npy"), expected)


# --- what can't be saved


def test_an_activation_without_a_name_is_refused_and_nothing_is_written(tmp_path):
    X, y = numbers()
    for activation in (torch.tanh, torch.nn.Tanh()):
        model = classifier(activation=activation, max_epochs=1).fit(X, y)
        with pytest.raises(LacunetError, match="Give an activation by its name"):
            model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        classifier().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_labels_that_no_file_can_hold_are_refused():
    with pytest.raises(LacunetError, match="texts, numbers or booleans"):
        pack_array(np.array([(1, 2), None], dtype=object))
    for dtype in ("V8", "M8[s]", "S3"):
        with pytest.raises(ValueError, match="an array of dtype"):
            unpack_array({"dtype": dtype, "values": []})


# --- what was changed


def reseal(folder, change):
    """Change a model's content, with all sums right again: the worst of forgers."""
    record = json.loads((folder / "model.json").read_text())
    content = record["content"]
    tensors = load_file(folder / "model.safetensors")
    tensors = change(content, tensors) or tensors
    save_file(tensors, folder / "model.safetensors")
    data = (folder / "model.safetensors").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    text = seal(content, tensors_sha256=digest)
    (folder / "model.json").write_text(text)


def test_resealing_without_a_change_gives_the_same_model(model_of):
    X, _ = frame()
    folder = model_of("classifier")
    reseal(folder, lambda content, tensors: None)
    expected = fitted("classifier", frame).predict_proba(X)
    np.testing.assert_array_equal(lacunet.load(folder).predict_proba(X), expected)


def _paths(content, path=()):
    """Return the ways to all values in a record, but for free texts and history."""
    if isinstance(content, dict):
        items = list(content.items())
    else:
        items = list(enumerate(content))[:1]
    for key, value in items:
        if key in ("versions", "history"):
            continue
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _paths(value, (*path, key))


def _at(content, path):
    for key in path:
        content = content[key]
    return content


@every
def test_no_change_of_the_record_gives_another_error(name, model_of):
    """Each value missing, or of another kind: refused, or as good as before."""
    folder = model_of(name)
    text = (folder / "model.json").read_text()
    paths = list(_paths(json.loads(text)["content"]))
    others = itertools.cycle([None, "text", -1, [], {}, 10**9, 0.5])
    refused = 0
    for path, new in [*((p, "missing") for p in paths), *zip(paths, others)]:  # noqa: B905
        (folder / "model.json").write_text(text)
        reseal(folder, functools.partial(_change, path, new))
        try:
            lacunet.load(folder)
        except LacunetError:
            refused += 1
    assert refused > len(paths)


def _change(path, new, content, tensors):
    if new == "missing":
        del _at(content, path[:-1])[path[-1]]
    else:
        _at(content, path[:-1])[path[-1]] = new


def test_each_part_of_the_content_is_needed(model_of):
    folder = model_of("classifier")
    text = (folder / "model.json").read_text()
    not_needed = {"versions", "seed", "timed_out", "form"}
    for key in set(json.loads(text)["content"]) - not_needed:
        (folder / "model.json").write_text(text)
        reseal(folder, lambda content, tensors, key=key: content.pop(key) and None)
        with pytest.raises(LacunetError, match="does not fit together|of class None"):
            lacunet.load(folder)


@pytest.mark.parametrize("kind", ["Other", "os.system", "__class__", ["a"], None])
def test_a_class_that_is_none_of_ours_is_refused(model_of, kind):
    folder = model_of("imputer")
    reseal(folder, lambda content, tensors: content.update({"class": kind}))
    with pytest.raises(LacunetError, match="Got a model of class"):
        lacunet.load(folder)


@pytest.mark.parametrize("other", ["LacunetRegressor", "LacunetImputer"])
def test_the_class_of_another_model_is_refused(model_of, other):
    folder = model_of("classifier")
    reseal(folder, lambda content, tensors: content.update({"class": other}))
    with pytest.raises(LacunetError, match="does not fit together"):
        lacunet.load(folder)


def without_a_tensor(content, tensors):
    tensors.popitem()


def with_one_more(content, tensors):
    tensors["more"] = torch.zeros(3)


def of_other_shapes(content, tensors):
    return {name: torch.zeros(2, 2) for name in tensors}


def of_more_columns(content, tensors):
    content["inputs"]["table"]["columns"].pop()


def of_more_classes(content, tensors):
    content["classes"]["values"] = [0, 1, 2]


def of_more_features(content, tensors):
    content["n_features_in"] = 8


def of_fewer_names(content, tensors):
    content["feature_names_in"]["values"].pop()


def of_other_marks(content, tensors):
    content["inputs"]["marked"] = [0]


def of_impossible_marks(content, tensors):
    content["inputs"]["marked"] = [99]


def without_views(content, tensors):
    content["branches"] = []
    return {}


def of_fewer_categories(content, tensors):
    columns = content["inputs"]["table"]["columns"]
    next(c for c in columns if c["categories"])["categories"].pop()


def of_no_numbers(content, tensors):
    for tensor in tensors.values():
        if tensor.is_floating_point():
            tensor.fill_(torch.nan)


def of_an_unknown_activation(content, tensors):
    content["body"]["activation"] = "os.system"


def of_an_unknown_parameter(content, tensors):
    content["parameters"]["surprise"] = 1


@pytest.mark.parametrize(
    "change",
    [
        without_a_tensor,
        with_one_more,
        of_other_shapes,
        of_more_columns,
        of_more_classes,
        of_more_features,
        of_fewer_names,
        of_other_marks,
        of_impossible_marks,
        without_views,
        of_fewer_categories,
        of_no_numbers,
        of_an_unknown_activation,
        of_an_unknown_parameter,
    ],
    ids=lambda change: change.__name__,
)
def test_parts_that_do_not_fit_together_are_refused(model_of, change):
    folder = model_of("classifier")
    reseal(folder, change)
    with pytest.raises(LacunetError, match="^Got "):
        lacunet.load(folder)


def test_a_target_scale_of_another_length_is_refused(model_of):
    folder = model_of("regressor")
    scale = [[0.0, 1.0], [1.0, 1.0]]
    reseal(folder, lambda content, tensors: content.update({"target_scale": scale}))
    with pytest.raises(LacunetError, match="does not fit together"):
        lacunet.load(folder)


def test_loading_imports_and_runs_nothing_that_a_file_names(model_of, monkeypatch):
    folder = model_of("classifier", numbers)
    (folder.parent / "trap.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(folder.parent)

    def change(content, tensors):
        content["class"] = "LacunetClassifier"
        content["module"] = content["versions"]["trap"] = "trap"
        content["parameters"]["random_state"] = {"list": ["trap", "trap.py"]}

    reseal(folder, change)
    before = set(sys.modules)
    lacunet.load(folder)
    assert "trap" not in sys.modules
    assert not any(name.startswith("trap") for name in set(sys.modules) - before)
