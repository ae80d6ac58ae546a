"""The compiled part of `preflow_closure`.

Vertices are the splits 0, ..., k - 1 and then the purchases. The arcs h -> parent(h) and u -> j are always residual. The arc
parent(h) -> h is residual where h hands something up, and j -> u where u pays for j. Labels are lower bounds on the number of
residual arcs to a deficit. Flows on usage arcs are kept twice, in the order of the splits and in that of the purchases, because
both sides scan theirs in order.

Kernels here make no arrays and call no other kernels: numba compiles each call and each kind of array once more, for seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


class Adjacency(NamedTuple):
    """Who is next to whom; all int32."""

    parent: NDArray[np.int32]  # shape (k,): -1 at tops
    # first_child, child: the children of split h are ``child[first_child[h] : first_child[h + 1]]``
    first_child: NDArray[np.int32]
    child: NDArray[np.int32]
    # first_arc, head: the usage arcs of split h begin at ``first_arc[h]``; ``head`` is the purchase of each arc
    first_arc: NDArray[np.int32]
    head: NDArray[np.int32]
    # first_user, user: the users of purchase j are ``user[first_user[j] : first_user[j + 1]]``
    first_user: NDArray[np.int32]
    user: NDArray[np.int32]
    # arc, place: the usage arc of each place in `user`, and the place of each usage arc
    arc: NDArray[np.int32]
    place: NDArray[np.int32]


class Flows(NamedTuple):
    """What flows, in both orders of the usage arcs, and the balances (1) of `closure`; all int64."""

    usage: NDArray[np.int64]
    usage_by_user: NDArray[np.int64]
    parent: NDArray[np.int64]
    balance: NDArray[np.int64]


class LabelWork(NamedTuple):
    """Room to work in: int32 labels and queue, one longer; which vertices are in the queue; the next arc that a split tries."""

    label: NDArray[np.int32]
    queue: NDArray[np.int32]
    active: NDArray[np.bool_]
    current_arc: NDArray[np.int32]


@njit(cache=True, nogil=True)
def fit(parent, first_arc, has, usage_flow, parent_flow):  # type: ignore[no-untyped-def]
    """Reduce a flow until no split spends more than it has, children before parents; roots hand nothing up.

    On entry ``has[h]`` is the profit of h. The pass adds what the children hand up.
    """
    for h in range(has.shape[0] - 1, -1, -1):
        # usage arcs first: if they take more than h has, all of them are reduced in proportion
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
        # the rest may go to the parent
        if parent[h] < 0:
            parent_flow[h] = 0
        else:
            if parent_flow[h] > room - spent:
                parent_flow[h] = room - spent
            has[parent[h]] += parent_flow[h]


@njit(cache=True, nogil=True)
def prepare(net, tail, flows):  # type: ignore[no-untyped-def]
    """Fill in `place`, `user` and the flows by user, and turn the balances of no flow into those of this flow."""
    parent, _, _, _, head, _, user, arc, place = net
    usage_flow, usage_flow_by_user, parent_flow, balance = flows
    k = parent.shape[0]
    # the flow to parents
    for h in range(k):
        balance[h] -= parent_flow[h]
        if parent[h] >= 0:
            balance[parent[h]] += parent_flow[h]
    # the usage arcs in the order of the purchases
    for q in range(arc.shape[0]):
        a = arc[q]
        place[a], user[q], usage_flow_by_user[q] = q, tail[a], usage_flow[a]
    # the flow to purchases
    for a in range(tail.shape[0]):
        balance[tail[a]] -= usage_flow[a]
        balance[k + head[a]] += usage_flow[a]


@njit(cache=True, nogil=True)
def label_all(net, flows, work):  # type: ignore[no-untyped-def]
    """Exact labels, breadth first from the deficits; the vertices that reach one, nearest first, and how many they are.

    Level by level, in the cheaper direction: back from all vertices of a level, or, where these have more arcs than those that
    have no label yet, from each of the latter to the first neighbour that has one (Beamer, Asanovic and Patterson 2012).
    """
    parent, first_child, child, first_arc, head, first_user, user, _, _ = net
    usage_flow, usage_flow_by_user, parent_flow, balance = flows
    label, queue = work.label, work.queue
    k, n = parent.shape[0], balance.shape[0]
    never = n + 1
    # deficits have the label 0
    reached, level_arcs = 0, 0
    for v in range(n):
        label[v] = never
        if balance[v] < 0:
            label[v] = 0
            queue[reached] = v
            reached += 1
            level_arcs += first_arc[v + 1] - first_arc[v] if v < k else first_user[v - k + 1] - first_user[v - k]
    begin, further, arcs_left = 0, 1, 2 * head.shape[0] - level_arcs
    while begin < reached:
        end = reached
        if level_arcs > arcs_left:
            # from each vertex without a label go along its residual arcs, to a label
            for v in range(n):
                if label[v] < never:
                    continue
                found = False
                # a split: up to its parent, to its purchases, or back to a child that hands something up
                if v < k:
                    found = parent[v] >= 0 and label[parent[v]] < further
                    a, last = first_arc[v], first_arc[v + 1]
                    while a < last and not found:
                        found = label[k + head[a]] < further
                        a += 1
                    c, last = first_child[v], first_child[v + 1]
                    while c < last and not found:
                        found = parent_flow[child[c]] > 0 and label[child[c]] < further
                        c += 1
                # a purchase: back to a user that pays for it
                else:
                    q, last = first_user[v - k], first_user[v - k + 1]
                    while q < last and not found:
                        found = usage_flow_by_user[q] > 0 and label[user[q]] < further
                        q += 1
                if found:
                    label[v] = further
                    queue[reached] = v
                    reached += 1
        else:
            # from each vertex of the level go back along the arcs that are residual towards it
            for i in range(begin, end):
                v = queue[i]
                # to a purchase: from all of its users
                if v >= k:
                    for q in range(first_user[v - k], first_user[v - k + 1]):
                        u = user[q]
                        if label[u] == never:
                            label[u] = further
                            queue[reached] = u
                            reached += 1
                    continue
                # to a split: from its children, from its parent if it hands something up, from the purchases that it pays for
                for c in range(first_child[v], first_child[v + 1]):
                    u = child[c]
                    if label[u] == never:
                        label[u] = further
                        queue[reached] = u
                        reached += 1
                u = parent[v]
                if u >= 0 and parent_flow[v] > 0 and label[u] == never:
                    label[u] = further
                    queue[reached] = u
                    reached += 1
                for a in range(first_arc[v], first_arc[v + 1]):
                    if usage_flow[a] > 0:
                        u = k + head[a]
                        if label[u] == never:
                            label[u] = further
                            queue[reached] = u
                            reached += 1
        # the next level, with the arcs of its vertices
        begin, further, level_arcs = end, further + 1, 0
        for i in range(end, reached):
            v = queue[i]
            level_arcs += first_arc[v + 1] - first_arc[v] if v < k else first_user[v - k + 1] - first_user[v - k]
        arcs_left -= level_arcs
    return reached


@njit(cache=True, nogil=True)
def discharge(net, flows, work, reached):  # type: ignore[no-untyped-def]
    """Push excess towards deficits until the work budget is spent, or no vertex is active any more; whether any was at first.

    Active vertices are those with excess that can still reach a deficit. They are discharged first in, first out. `label_all`
    left the vertices that reach a deficit at the front of the queue, the nearest first; the farthest active one begins. Later
    labels are far too low, so when the work budget is spent they are to be computed again.
    All of it is one function: a call for each vertex would cost a third more, because compiled code counts references to every
    array that it passes.
    """
    parent, first_child, child, first_arc, head, first_user, user, arc, place = net
    usage_flow, usage_flow_by_user, parent_flow, balance = flows
    label, queue, active, current_arc = work
    k, n = parent.shape[0], balance.shape[0]
    never = n + 1
    # the queue: a ring of n + 1 places, from `begin` to `end`
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
    # the farthest first
    for i in range(end // 2):
        v = queue[i]
        queue[i] = queue[end - 1 - i]
        queue[end - 1 - i] = v
    for h in range(k):
        current_arc[h] = 0
    # the work of about two scans of all arcs, after which labels are computed again
    begin, work_budget = 0, 2 * head.shape[0] + n
    while begin != end and work_budget >= 0:
        v = queue[begin]
        begin = begin + 1 if begin < n else 0
        active[v] = False
        excess, lower_label, least_label = balance[v], label[v] - 1, never
        if v >= k:
            # a purchase gives back to users that pay for it
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
            # a split hands all to its parent, if that is nearer to a deficit
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
            # else it pays for purchases, from the arc on where it stopped last time
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
            # else it gives back to children that handed something up
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
            # all arcs were tried: the new label needs the labels of all purchases
            if excess > 0:
                current_arc[v] = 0
                for a in range(first_arc[v], last):
                    if label[k + head[a]] < least_label:
                        least_label = label[k + head[a]]
                work_budget -= last - first_arc[v]
        # relabel a vertex that could not get rid of its excess
        balance[v] = excess
        if excess > 0:
            label[v] = least_label + 1 if least_label < n else never
            if label[v] < never and not active[v]:
                active[v] = True
                queue[end] = v
                end = end + 1 if end < n else 0
    return True


@njit(cache=True, nogil=True)
def reached_by_excess(net, flows, seen, queue):  # type: ignore[no-untyped-def]
    """Mark what excess reaches along residual arcs."""
    parent, first_child, child, first_arc, head, first_user, user, _, _ = net
    _, usage_flow_by_user, parent_flow, balance = flows
    k, count, done = parent.shape[0], 0, 0
    for v in range(balance.shape[0]):
        # breadth first, from the vertices with excess
        seen[v] = balance[v] > 0
        if seen[v]:
            queue[count] = v
            count += 1
    while done < count:
        v = queue[done]
        done += 1
        # from a purchase back to the users that pay for it
        if v >= k:
            for q in range(first_user[v - k], first_user[v - k + 1]):
                if usage_flow_by_user[q] > 0 and not seen[user[q]]:
                    seen[user[q]] = True
                    queue[count] = user[q]
                    count += 1
            continue
        # from a split to its parent, to children that hand something up, and to its purchases
        u = parent[v]
        if u >= 0 and not seen[u]:
            seen[u] = True
            queue[count] = u
            count += 1
        for c in range(first_child[v], first_child[v + 1]):
            u = child[c]
            if parent_flow[u] > 0 and not seen[u]:
                seen[u] = True
                queue[count] = u
                count += 1
        for a in range(first_arc[v], first_arc[v + 1]):
            u = k + head[a]
            if not seen[u]:
                seen[u] = True
                queue[count] = u
                count += 1
