"""What residual arcs connect: exact distances to deficits, and what excess reaches.

The arcs h -> parent(h) and u -> j are always residual; parent(h) -> h is where h hands something up, j -> u where u pays for j.
"""

from __future__ import annotations

from formulations.compiled import njit


@njit(cache=True, nogil=True)
def label_all(parent, first_child, child, first_arc, head, first_user, user, usage_flow, parent_flow, balance, label, queue):  # type: ignore[no-untyped-def]
    """Exact labels, breadth first from the deficits; the vertices that reach one, nearest first, and how many they are."""
    k, n = parent.shape[0], balance.shape[0]
    never = n + 1
    reached = 0
    for v in range(n):
        label[v] = never
        if balance[v] < 0:
            label[v] = 0
            queue[reached] = v
            reached += 1
    done = 0
    while done < reached:
        v = queue[done]
        done += 1
        further = label[v] + 1
        if v >= k:
            for q in range(first_user[v - k], first_user[v - k + 1]):
                u = user[q]
                if label[u] == never:
                    label[u] = further
                    queue[reached] = u
                    reached += 1
            continue
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
    return reached


@njit(cache=True, nogil=True)
def reached_by_excess(  # type: ignore[no-untyped-def]
    parent, first_child, child, first_arc, head, first_user, user, usage_flow_by_user, parent_flow, balance, seen, queue
):
    """Mark what excess reaches along residual arcs."""
    k, count, done = parent.shape[0], 0, 0
    for v in range(balance.shape[0]):
        seen[v] = balance[v] > 0
        if seen[v]:
            queue[count] = v
            count += 1
    while done < count:
        v = queue[done]
        done += 1
        if v >= k:
            for q in range(first_user[v - k], first_user[v - k + 1]):
                if usage_flow_by_user[q] > 0 and not seen[user[q]]:
                    seen[user[q]] = True
                    queue[count] = user[q]
                    count += 1
            continue
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
