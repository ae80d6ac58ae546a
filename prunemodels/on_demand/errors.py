"""Errors while features are bought; each carries the walk, which can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations.errors import PruneModelsError

if TYPE_CHECKING:
    from prunemodels.on_demand.request import Request
    from prunemodels.on_demand.walk import Walk


class AcquisitionFailedError(PruneModelsError, RuntimeError):
    """`acquire` raised an exception (the ``__cause__``), or its answer is refused, or leaves values out that were asked for.

    Attributes
    ----------
    request
        the request that failed. Of an answer that leaves values out, what came is kept and paid; else nothing is.
    walk
        the walk, with all that was bought before and, where several requests were in flight, what the others brought. See
        ``walk.result()``; ``walk.run()`` goes on, and asks again only for what was not delivered.
    others
        failures of requests that were in flight at the same time.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> def broken(request):
    ...     raise ConnectionError("no answer")
    ...
    >>> try:
    ...     pm.OnDemandPredictor(forest, costs, broken).run(X_test.index)
    ... except pm.errors.AcquisitionFailedError as error:
    ...     print(repr(error.__cause__), "at request", error.request.number)
    ...
    ConnectionError('no answer') at request 0
    """

    def __init__(self, message: str, request: Request, walk: Walk) -> None:
        super().__init__(message)
        self.request = request
        self.walk = walk
        self.others: tuple[AcquisitionFailedError, ...] = ()


class InterruptedAcquisitionError(PruneModelsError, KeyboardInterrupt):
    """The user stopped the walk (Ctrl-C); what was delivered is kept.

    Attributes
    ----------
    walk
        the walk, with all that was bought before; ``walk.run()`` goes on.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> def stopped(request):
    ...     raise KeyboardInterrupt
    ...
    >>> try:
    ...     pm.OnDemandPredictor(forest, costs, stopped).run(X_test.index)
    ... except pm.errors.InterruptedAcquisitionError as error:
    ...     print(error.walk.result().requests)
    ...
    1
    """

    def __init__(self, message: str, walk: Walk) -> None:
        super().__init__(message)
        self.walk = walk
