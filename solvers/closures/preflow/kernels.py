"""The compiled part of `preflow_closure`.

Vertices are the splits 0, ..., k - 1 and then the purchases. Loads are kept twice, in the order of the splits and in that of the
purchases, for both sides scan theirs in order. Labels are lower bounds on the number of residual arcs to a deficit.
"""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit
from solvers.closures.preflow.adjacency import by_purchase, children
from solvers.closures.preflow.residual import label_all, reached_by_excess


@njit(cache=True, nogil=True)
def cut(profit, parent, first_arc, tail, head, price, usage_flow, parent_flow, warm, smallest):  # type: ignore[no-untyped-def]
    """The best closure, what the flow leaves over, and what the closure is worth; the two flow arrays are overwritten."""
    first_child, child = children(parent)
    first_user, arc = by_purchase(head, price.shape[0])
    user = tail[arc]
    if warm:
        _fit(profit, parent, first_arc, usage_flow, parent_flow)
    balance = _balances(profit, parent, tail, head, price, usage_flow, parent_flow)
    label = np.empty(balance.shape[0], dtype=np.int32)
    place = np.empty_like(arc)
    for q in range(arc.shape[0]):
        place[arc[q]] = q
    _ship(
        parent,
        first_child,
        child,
        first_arc,
        head,
        place,
        first_user,
        user,
        arc,
        usage_flow,
        usage_flow[arc],
        parent_flow,
        balance,
        label,
    )
    left = 0
    for v in range(balance.shape[0]):
        left += max(balance[v], 0)
    k = profit.shape[0]
    if smallest:
        keep = reached_by_excess(
            parent, first_child, child, first_arc, head, first_user, user, arc, usage_flow, parent_flow, balance
        )[:k]
    else:
        keep = label[:k] > balance.shape[0]
    return keep, left, _worth(profit, tail, head, price, keep)


@njit(cache=True, nogil=True)
def _fit(profit, parent, first_arc, usage_flow, parent_flow):  # type: ignore[no-untyped-def]
    """Reduce a flow until no split spends more than it has, children before parents; roots hand nothing up."""
    has = profit.copy()
    for h in range(profit.shape[0] - 1, -1, -1):
        spent = 0
        for a in range(first_arc[h], first_arc[h + 1]):
            spent += usage_flow[a]
        room = max(has[h], 0)
        if spent > room:
            share = room / spent
            spent = 0
            for a in range(first_arc[h], first_arc[h + 1]):
                usage_flow[a] = min(np.int64(usage_flow[a] * share), room - spent)
                spent += usage_flow[a]
        if parent[h] < 0:
            parent_flow[h] = 0
        else:
            parent_flow[h] = min(parent_flow[h], room - spent)
            has[parent[h]] += parent_flow[h]


@njit(cache=True, nogil=True)
def _balances(profit, parent, tail, head, price, usage_flow, parent_flow):  # type: ignore[no-untyped-def]
    """(1) of `closure`."""
    k = profit.shape[0]
    balance = np.empty(k + price.shape[0], dtype=np.int64)
    for h in range(k):
        balance[h] = profit[h] - parent_flow[h]
    for j in range(price.shape[0]):
        balance[k + j] = -price[j]
    for h in range(k):
        if parent[h] >= 0:
            balance[parent[h]] += parent_flow[h]
    for a in range(tail.shape[0]):
        balance[tail[a]] -= usage_flow[a]
        balance[k + head[a]] += usage_flow[a]
    return balance


@njit(cache=True, nogil=True)
def _ship(  # type: ignore[no-untyped-def]
    parent,
    first_child,
    child,
    first_arc,
    head,
    place,
    first_user,
    user,
    arc,
    usage_flow,
    usage_flow_by_user,
    parent_flow,
    balance,
    label,
):
    """Push excess to deficits until none reaches one; labels are exact at the end.

    Active vertices, those with excess that can still reach a deficit, are discharged first in, first out. After a while the
    labels are far too low, so when the work budget is spent they are computed again. All of it is one function: a call for
    each vertex would cost a third more, because compiled code counts references to every array that it passes.
    """
    k, n = parent.shape[0], balance.shape[0]
    never = n + 1
    queue, active, current_arc = np.empty(n + 1, dtype=np.int32), np.zeros(n, dtype=np.bool_), np.zeros(k, dtype=np.int32)
    while True:
        reached = label_all(
            parent, first_child, child, first_arc, head, first_user, user, usage_flow, parent_flow, balance, label, queue
        )
        begin, end = 0, _activate(queue, reached, active, balance)
        if end == 0:
            return
        current_arc[:] = 0
        work_budget = 2 * head.shape[0] + n
        while begin != end and work_budget >= 0:
            v = queue[begin]
            begin = begin + 1 if begin < n else 0
            active[v] = False
            excess, lower_label, least_label = balance[v], label[v] - 1, never
            if v >= k:
                q, last = first_user[v - k], first_user[v - k + 1]
                while q < last and excess > 0:
                    if usage_flow_by_user[q] > 0:
                        u = user[q]
                        if label[u] == lower_label:
                            pushed = min(excess, usage_flow_by_user[q])
                            usage_flow_by_user[q] -= pushed
                            usage_flow[arc[q]] -= pushed
                            excess -= pushed
                            balance[u] += pushed
                            if balance[u] > 0 and not active[u]:
                                active[u] = True
                                queue[end] = u
                                end = end + 1 if end < n else 0
                        if usage_flow_by_user[q] > 0:
                            least_label = min(least_label, label[u])
                    q += 1
                work_budget -= q - first_user[v - k]
            else:
                u = parent[v]
                if u >= 0:
                    least_label = label[u]
                    if least_label == lower_label:
                        parent_flow[v] += excess
                        balance[u] += excess
                        excess = 0
                        if balance[u] > 0 and not active[u]:
                            active[u] = True
                            queue[end] = u
                            end = end + 1 if end < n else 0
                a, last = first_arc[v] + current_arc[v], first_arc[v + 1]
                work_budget += a
                while a < last and excess > 0:
                    u = k + head[a]
                    if label[u] == lower_label:
                        # a purchase takes at most its deficit, so that others get the rest; one without a deficit takes all
                        pushed = min(excess, -balance[u]) if balance[u] < 0 else excess
                        usage_flow[a] += pushed
                        usage_flow_by_user[place[a]] += pushed
                        excess -= pushed
                        balance[u] += pushed
                        if balance[u] > 0 and not active[u]:
                            active[u] = True
                            queue[end] = u
                            end = end + 1 if end < n else 0
                        if excess == 0:
                            break
                    a += 1
                work_budget -= a
                current_arc[v] = a - first_arc[v]
                if excess > 0:
                    for c in range(first_child[v], first_child[v + 1]):
                        u = child[c]
                        if parent_flow[u] > 0:
                            if label[u] == lower_label and excess > 0:
                                pushed = min(excess, parent_flow[u])
                                parent_flow[u] -= pushed
                                excess -= pushed
                                balance[u] += pushed
                                if balance[u] > 0 and not active[u]:
                                    active[u] = True
                                    queue[end] = u
                                    end = end + 1 if end < n else 0
                            if parent_flow[u] > 0:
                                least_label = min(least_label, label[u])
                if excess > 0:
                    current_arc[v] = 0
                    for a in range(first_arc[v], last):
                        least_label = min(least_label, label[k + head[a]])
                    work_budget -= last - first_arc[v]
            balance[v] = excess
            if excess > 0:
                label[v] = min(least_label + 1, never)
                if label[v] < never and not active[v]:
                    active[v] = True
                    queue[end] = v
                    end = end + 1 if end < n else 0


@njit(cache=True, nogil=True)
def _activate(queue, reached, active, balance):  # type: ignore[no-untyped-def]
    """Put the vertices with excess among the first `reached` of the queue back into it, the farthest first; their number."""
    active[:] = False
    count = 0
    for i in range(reached):
        if balance[queue[i]] > 0:
            queue[count] = queue[i]
            active[queue[i]] = True
            count += 1
    for i in range(count // 2):
        queue[i], queue[count - 1 - i] = queue[count - 1 - i], queue[i]
    return count


@njit(cache=True, nogil=True)
def _worth(profit, tail, head, price, keep):  # type: ignore[no-untyped-def]
    """Profits of the closure less the prices of what it needs."""
    worth = 0
    paid = np.zeros(price.shape[0], dtype=np.bool_)
    for h in range(profit.shape[0]):
        if keep[h]:
            worth += profit[h]
    for a in range(tail.shape[0]):
        if keep[tail[a]] and not paid[head[a]]:
            paid[head[a]] = True
            worth -= price[head[a]]
    return worth
