"""The context encoder: complete rows are what it learns to give back."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from reproduction.rivals._complete import borrow_holes, check_complete, find_complete
from reproduction.rivals._filled import FilledAutoencoder


class ContextEncoder(FilledAutoencoder):
    """An autoencoder from mean-filled rows to complete rows.

    The one method of the paper's comparison that is shown complete data in training:
    its loss is taken over all cells of the complete rows, those that are missing from
    its input among them.

    Parameters
    ----------
    imputer : transformer, default=None
        What fills the rows, on their scale, and keeps their columns; it is fitted on
        the training rows. The means of the columns by default, as in the paper.
    scale : {"standard", "none"}, default="standard"
        How numbers are brought to one scale: by mean and standard deviation of the
        observed cells, bounded at five of them, or not at all: "none" is for images,
        whose pixels have one scale.
    hidden_layer_sizes : tuple of int, default=(256, 128, 64, 128, 256)
        Widths of the hidden layers.
    activation : str, torch.nn.Module, callable or a pair of them, default="relu"
        Of the hidden layers; of a pair, the second is for those behind the first. The
        paper has ``("relu", "sigmoid")`` and ``out_activation="sigmoid"``.
    out_activation : str, torch.nn.Module or callable, default="identity"
        Of the outputs, on the scale of the inputs.
    max_epochs : int, default=200
        Training stops earlier, when the loss on rows held back stops falling; the best
        weights are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of AdamW.
    schedule : {"constant", "one-cycle"}, default="constant"
        What becomes of the learning rate. With "one-cycle" it rises at first and falls
        to nothing by the last of ``max_epochs``, all of which are run: the best use of
        a number of epochs that you can name.
    weight_decay : float, default=0.0
    validation_fraction : float, default=0.2
        Share of the rows that are held back, from 0.01 to 0.5; rounded to one part in
        a whole number.
    time_limit : float, default=None
        Seconds of training after which no epoch begins; at least one is run.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the holes that are drawn, of the network and its training.

    Attributes
    ----------
    module_ : torch.nn.Module
        From filled rows, on scale, to what is given back.
    imputer_ : transformer
    scaler_ : StandardScaler or None
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import ContextEncoder
    >>> x = np.linspace(-1, 1, 200)
    >>> complete = np.column_stack([x, 2 * x, -x])
    >>> X = complete.copy()
    >>> X[::3, 1] = np.nan
    >>> model = ContextEncoder(
    ...     hidden_layer_sizes=(16, 1, 16), max_epochs=5, random_state=0
    ... )
    >>> filled = model.fit(X, X_complete=complete).transform(X)
    >>> bool(np.isnan(filled).any())
    False
    """

    def fit(self, X: Any, y: Any = None, *, X_complete: Any = None) -> Self:
        """Train the network to make complete rows of rows with holes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where one is missing.
        y : Ignored
        X_complete : array-like of shape (n_samples, n_features), default=None
            The rows of ``X`` without holes. If they are not given, the rows of ``X``
            that are complete serve; each of them gets, on the side of the input, the
            holes of an incomplete row that is drawn for it. If there is no complete
            row either, a context encoder can't be fitted.

        Returns
        -------
        self
        """
        x = self._begin(X)
        state = check_random_state(self.random_state)
        if X_complete is None:
            inputs, targets = borrow_holes(x, state), x[find_complete(x)]
        else:
            rows = self._validate(X_complete, reset=False)
            check_complete(rows, x, np.isnan(rows))
            inputs, targets = x, self._to_scale(rows)
        return self._learn(self._fill(inputs), targets, state)
