"""The compiled part of `preflow_closure`.

Vertices are the splits 0, ..., k - 1 and then the purchases. Loads are kept twice, in the order of the splits and in that of the
purchases, for both sides scan theirs in order. Labels are lower bounds on the number of residual arcs to a deficit.

Kernels here make no arrays and call no other kernels: numba compiles each call and each kind of array once more, for seconds.
"""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit


@njit(cache=True, nogil=True)
def fit(parent, first_arc, has, usage_flow, parent_flow):  # type: ignore[no-untyped-def]
    """Reduce a flow until no split spends more than it has, children before parents; roots hand nothing up.

    `has` are the profits at first, and in the end with what children hand up.
    """
    for h in range(has.shape[0] - 1, -1, -1):
        spent = 0
        for a in range(first_arc[h], first_arc[h + 1]):
            spent += usage_flow[a]
        room = has[h] if has[h] > 0 else 0
        if spent > room:
            share = room / spent
            spent = 0
            for a in range(first_arc[h], first_arc[h + 1]):
                part = np.int64(usage_flow[a] * share)
                usage_flow[a] = part if part < room - spent else room - spent
                spent += usage_flow[a]
        if parent[h] < 0:
            parent_flow[h] = 0
        else:
            if parent_flow[h] > room - spent:
                parent_flow[h] = room - spent
            has[parent[h]] += parent_flow[h]


@njit(cache=True, nogil=True)
def prepare(parent, tail, head, arc, usage_flow, parent_flow, balance, place, user, usage_flow_by_user):  # type: ignore[no-untyped-def]
    """The same by purchase: users, flows and the place of each arc; and (1) of `closure`, from the balances of no flow."""
    k = parent.shape[0]
    for h in range(k):
        balance[h] -= parent_flow[h]
        if parent[h] >= 0:
            balance[parent[h]] += parent_flow[h]
    for q in range(arc.shape[0]):
        a = arc[q]
        place[a], user[q], usage_flow_by_user[q] = q, tail[a], usage_flow[a]
    for a in range(tail.shape[0]):
        balance[tail[a]] -= usage_flow[a]
        balance[k + head[a]] += usage_flow[a]


@njit(cache=True, nogil=True)
def discharge(  # type: ignore[no-untyped-def]
    parent,
    first_child,
    child,
    first_arc,
    head,
    first_user,
    user,
    place,
    arc,
    usage_flow,
    usage_flow_by_user,
    parent_flow,
    balance,
    label,
    queue,
    active,
    current_arc,
    reached,
):
    """Push excess towards deficits until the work budget is spent, or no vertex is active any more; whether any was at first.

    Active vertices, those with excess that can still reach a deficit, are discharged first in, first out. At first they are among
    the `reached` first of the queue, nearest to a deficit first, and the farthest begins. After a while the labels are far too
    low, so when the work budget is spent they are to be computed again.
    All of it is one function: a call for each vertex would cost a third more, because compiled code counts references to every
    array that it passes.
    """
    k, n = parent.shape[0], balance.shape[0]
    never = n + 1
    end = 0
    for v in range(n):
        active[v] = False
    for i in range(reached):
        if balance[queue[i]] > 0:
            queue[end] = queue[i]
            active[queue[i]] = True
            end += 1
    if end == 0:
        return False
    for i in range(end // 2):
        v = queue[i]
        queue[i] = queue[end - 1 - i]
        queue[end - 1 - i] = v
    for h in range(k):
        current_arc[h] = 0
    begin, work_budget = 0, 2 * head.shape[0] + n
    while begin != end and work_budget >= 0:
        v = queue[begin]
        begin = begin + 1 if begin < n else 0
        active[v] = False
        excess, lower_label, least_label = balance[v], label[v] - 1, never
        if v >= k:
            q, last = first_user[v - k], first_user[v - k + 1]
            while q < last and excess > 0:
                flow = usage_flow_by_user[q]
                if flow > 0:
                    u = user[q]
                    its_label = label[u]
                    if its_label == lower_label:
                        pushed = flow if flow < excess else excess
                        flow -= pushed
                        usage_flow_by_user[q] = flow
                        usage_flow[arc[q]] = flow
                        excess -= pushed
                        its_balance = balance[u] + pushed
                        balance[u] = its_balance
                        if its_balance > 0 and not active[u]:
                            active[u] = True
                            queue[end] = u
                            end = end + 1 if end < n else 0
                    if flow > 0 and its_label < least_label:
                        least_label = its_label
                q += 1
            work_budget -= q - first_user[v - k]
        else:
            u = parent[v]
            if u >= 0:
                least_label = label[u]
                if least_label == lower_label:
                    parent_flow[v] += excess
                    its_balance = balance[u] + excess
                    balance[u] = its_balance
                    excess = 0
                    if its_balance > 0 and not active[u]:
                        active[u] = True
                        queue[end] = u
                        end = end + 1 if end < n else 0
            a, last = first_arc[v] + current_arc[v], first_arc[v + 1]
            work_budget += a
            while a < last and excess > 0:
                u = k + head[a]
                if label[u] == lower_label:
                    # a purchase takes at most its deficit, so that others get the rest; one without a deficit takes all
                    its_balance = balance[u]
                    pushed = -its_balance if 0 < -its_balance < excess else excess
                    flow = usage_flow[a] + pushed
                    usage_flow[a] = flow
                    usage_flow_by_user[place[a]] = flow
                    excess -= pushed
                    its_balance += pushed
                    balance[u] = its_balance
                    if its_balance > 0 and not active[u]:
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
                    flow = parent_flow[u]
                    if flow > 0:
                        its_label = label[u]
                        if its_label == lower_label and excess > 0:
                            pushed = flow if flow < excess else excess
                            flow -= pushed
                            parent_flow[u] = flow
                            excess -= pushed
                            its_balance = balance[u] + pushed
                            balance[u] = its_balance
                            if its_balance > 0 and not active[u]:
                                active[u] = True
                                queue[end] = u
                                end = end + 1 if end < n else 0
                        if flow > 0 and its_label < least_label:
                            least_label = its_label
            if excess > 0:
                current_arc[v] = 0
                for a in range(first_arc[v], last):
                    if label[k + head[a]] < least_label:
                        least_label = label[k + head[a]]
                work_budget -= last - first_arc[v]
        balance[v] = excess
        if excess > 0:
            label[v] = least_label + 1 if least_label < n else never
            if label[v] < never and not active[v]:
                active[v] = True
                queue[end] = v
                end = end + 1 if end < n else 0
    return True
